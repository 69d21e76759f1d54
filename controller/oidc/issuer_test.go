package oidc_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"
	"go.uber.org/goleak"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/internal/nodetest"
	"github.com/yurtrun/yurt/controller/oidc"
	"github.com/yurtrun/yurt/controller/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const audience = "yurt"

// pair is a key of the issuer with its id.
type pair struct {
	id  string
	key *rsa.PrivateKey
}

func newPair(t testing.TB, id string) pair {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return pair{id, key}
}

// ID, Algorithm, Use and Key implement op.Key.
func (p pair) ID() string                         { return p.id }
func (p pair) Algorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (p pair) Use() string                        { return "sig" }
func (p pair) Key() any                           { return p.key.Public() }

// keys is the storage of an issuer whose keys change.
type keys struct {
	op.Storage
	mu  sync.Mutex
	now []op.Key
}

func (k *keys) set(pairs ...pair) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now = nil
	for _, p := range pairs {
		k.now = append(k.now, p)
	}
}

// KeySet implements op.Storage.
func (k *keys) KeySet(context.Context) ([]op.Key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now, nil
}

// issuer is a provider of package op that can be away.
type issuer struct {
	*httptest.Server
	keys  *keys
	away  atomic.Bool
	asked atomic.Int64 // for keys
}

func newIssuer(t testing.TB, pairs ...pair) *issuer {
	t.Helper()
	i := &issuer{keys: &keys{Storage: storage.NewStorage(storage.NewUserStore("http://localhost"))}}
	i.keys.set(pairs...)
	var provider http.Handler
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/keys") {
			i.asked.Add(1)
		}
		if i.away.Load() {
			http.Error(w, "away", http.StatusBadGateway)
			return
		}
		provider.ServeHTTP(w, r)
	}))
	t.Cleanup(i.Close)
	made, err := op.NewProvider(&op.Config{CryptoKey: [32]byte{1}}, i.keys, op.StaticIssuer(i.URL), op.WithAllowInsecure())
	if err != nil {
		t.Fatal(err)
	}
	provider = made
	return i
}

// claims are those of a token that is valid.
func (i *issuer) claims(with ...any) map[string]any {
	claims := map[string]any{
		"iss": i.URL, "aud": []string{"other", audience}, "sub": "user-1", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
		"tenant": "acme", "scope": "openid sessions:read files",
	}
	for n := 0; n < len(with); n += 2 {
		claims[with[n].(string)] = with[n+1]
	}
	return claims
}

func sign(t testing.TB, alg jose.SignatureAlgorithm, key any, id string, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: id}}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (p pair) token(t testing.TB, claims map[string]any) string {
	t.Helper()
	return sign(t, jose.RS256, p.key, p.id, claims)
}

func configOf(i *issuer) oidc.Config {
	return oidc.Config{Issuer: i.URL, Audience: audience, Mapping: oidc.Mapping{TenantClaim: oidc.DefaultTenantClaim, ScopeClaim: oidc.DefaultScopeClaim}}
}

func check(t testing.TB, config oidc.Config) *oidc.Issuer {
	t.Helper()
	checked, err := oidc.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = checked.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return checked
}

func TestTokensAreChecked(t *testing.T) {
	first := newPair(t, "first")
	i := newIssuer(t, first)
	checked := check(t, configOf(i))
	caller, err := checked.Identify(t.Context(), first.token(t, i.claims()))
	if err != nil || caller.Tenant != "acme" || caller.Subject != "user-1" || fmt.Sprint(caller.Scopes) != "[files sessions:read]" || caller.Expires == nil {
		t.Fatalf("the caller is %+v, error %v", caller, err)
	}
	public, err := x509.MarshalPKIXPublicKey(first.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(i.claims())
	if err != nil {
		t.Fatal(err)
	}
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"first"}`)) + "." + base64.RawURLEncoding.EncodeToString(text) + "."
	changed := []byte(first.token(t, i.claims()))
	changed[len(changed)/2] ^= 'A' ^ 'B' // another letter, whichever it was
	noExpiry := i.claims()
	delete(noExpiry, "exp")
	stranger := newPair(t, "first") // a key that says it is the issuer's
	for name, refused := range map[string]struct{ token, says string }{
		"another audience":         {first.token(t, i.claims("aud", "other")), `audience is "yurt"`},
		"expired":                  {first.token(t, i.claims("exp", time.Now().Add(-time.Second).Unix())), "expired"},
		"without expiry":           {first.token(t, noExpiry), "expired"},
		"not yet valid":            {first.token(t, i.claims("nbf", time.Now().Add(time.Hour).Unix())), "before"},
		"alg none":                 {unsigned, "malformed"},
		"HS256 by the public key":  {sign(t, jose.HS256, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), "first", i.claims()), "malformed"},
		"HS256 by the key's bytes": {sign(t, jose.HS256, public, "first", i.claims()), "malformed"},
		"an unknown key":           {newPair(t, "other").token(t, i.claims()), "no key"},
		"a stranger's key":         {stranger.token(t, i.claims()), "no key"},
		"another issuer":           {first.token(t, i.claims("iss", "https://other.example")), "different provider"},
		"changed claims":           {string(changed), ""},
		"no subject":               {first.token(t, i.claims("sub", "")), "claim sub"},
		"no tenant":                {first.token(t, i.claims("tenant", 7)), "claim tenant"},
		"the operator's tenant":    {first.token(t, i.claims("tenant", "default")), "oidc_tenants"},
		"a name that is none":      {first.token(t, i.claims("tenant", "A b")), "no name of a tenant"},
		"a long one":               {first.token(t, i.claims("x", strings.Repeat("a", 16<<10))), "longer"},
		"no token":                 {"hello", "malformed"},
	} {
		if _, err := checked.Identify(t.Context(), refused.token); yurt.CodeOf(err) != yurt.CodeUnauthenticated || !strings.Contains(err.Error(), refused.says) {
			t.Errorf("%s: %v, want it refused with %q", name, err, refused.says)
		}
	}
}

// TestRemap: the next token that is checked has the tenant and the scopes of a changed mapping.
func TestRemap(t *testing.T) {
	first := newPair(t, "first")
	i := newIssuer(t, first)
	checked := check(t, configOf(i))
	token := first.token(t, i.claims())
	for _, step := range []struct{ tenant, means, scope string }{{"acme", "one", "files"}, {"acme", "two", "nodes"}} {
		checked.Remap(func(m *oidc.Mapping) {
			m.Tenants = map[string]string{step.tenant: step.means}
			m.Scopes = map[string][]access.Scope{"openid": {access.Scope(step.scope)}}
		})
		caller, err := checked.Identify(t.Context(), token)
		if err != nil || caller.Tenant != step.means || fmt.Sprint(caller.Scopes) != "["+step.scope+"]" {
			t.Errorf("the caller is %+v, error %v; want tenant %s with scope %s", caller, err, step.means, step.scope)
		}
	}
	checked.Remap(func(m *oidc.Mapping) { m.Tenants = map[string]string{"other": "two"} })
	if _, err := checked.Identify(t.Context(), token); yurt.CodeOf(err) != yurt.CodeUnauthenticated {
		t.Errorf("a tenant that is not in the mapping: %v", err)
	}
}

// TestRotation changes the keys of the issuer while tokens are checked.
func TestRotation(t *testing.T) {
	first, second := newPair(t, "first"), newPair(t, "second")
	i := newIssuer(t, first)
	config := configOf(i)
	var late atomic.Int64
	config.Now = func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
	checked := check(t, config)
	takes := func(p pair) error {
		_, err := checked.Identify(t.Context(), p.token(t, i.claims()))
		return err
	}
	if err := takes(first); err != nil {
		t.Fatal(err)
	}
	i.keys.set(first, second)
	for _, p := range []pair{first, second} {
		if err := takes(p); err != nil {
			t.Errorf("while the issuer has two keys, %s: %v", p.id, err)
		}
	}
	i.keys.set(second)
	late.Store(int64(oidc.KeyLife + time.Second))
	if err := takes(second); err != nil {
		t.Error("after the rotation:", err)
	}
	if err := takes(first); yurt.CodeOf(err) != yurt.CodeUnauthenticated {
		t.Errorf("a key that the issuer withdrew: %v, want it refused after %s", err, oidc.KeyLife)
	}
	asked := i.asked.Load()
	for range 200 {
		_ = takes(pair{"guess", first.key})
	}
	late.Add(int64(oidc.KeyLife + time.Second))
	if err := takes(second); err != nil {
		t.Error("a renewal of the keys after many guesses:", err)
	}
	if more := i.asked.Load() - asked; more > 10 {
		t.Errorf("200 tokens with a key that does not exist asked the issuer %d times", more)
	}
}

// TestIssuerAway: an issuer that is away ends no start, is said, and tokens are taken once it is back and while keys are young.
func TestIssuerAway(t *testing.T) {
	first := newPair(t, "first")
	i := newIssuer(t, first)
	i.away.Store(true)
	config := configOf(i)
	var late atomic.Int64
	config.Now = func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
	var log nodetest.Logs
	config.Logger = slog.New(slog.NewTextHandler(&log, nil))
	checked := check(t, config)
	token := first.token(t, i.claims("exp", time.Now().Add(9*time.Hour).Unix()))
	if _, err := checked.Identify(t.Context(), token); yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("while the issuer is away: %v, want unavailable", err)
	}
	await(t, "the log to say that the issuer is away", func() bool { return strings.Contains(log.String(), "is away") })
	i.away.Store(false)
	await(t, "the token to be taken", func() bool {
		_, err := checked.Identify(t.Context(), token)
		return err == nil
	})
	i.away.Store(true)
	late.Store(int64(oidc.KeyLife + time.Second))
	if _, err := checked.Identify(t.Context(), token); err != nil {
		t.Error("with an issuer that went away a moment ago:", err)
	}
	late.Store(int64(2 * time.Hour))
	if _, err := checked.Identify(t.Context(), token); yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("two hours after the issuer went away: %v, want unavailable", err)
	}
}

// TestTokenEndsStreams: a request of a token ends with the token, and its caller is kept for as long.
func TestTokenEndsStreams(t *testing.T) {
	first := newPair(t, "first")
	i := newIssuer(t, first)
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "yurt.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	doors, err := auth.New(auth.Config{Store: sqlite.Keys(store), Issuer: check(t, configOf(i))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = doors.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	enter := func(token string) (*http.Request, func(), error) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		return doors.Enter(r)
	}
	short := first.token(t, i.claims("exp", time.Now().Add(3*time.Second).Unix()))
	r, done, err := enter(short)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	caller, err := access.Caller(r.Context())
	if err != nil || caller.Subject != "user-1" || caller.Tenant != "acme" || caller.Identity() == "" || caller.Operates() {
		t.Errorf("the caller is %+v, error %v", caller, err)
	}
	if err := auth.NewPolicy().Decide(r.Context(), "create-session"); yurt.CodeOf(err) != yurt.CodeForbidden || !strings.Contains(err.Error(), "token") {
		t.Errorf("an operation without its scope: %v", err)
	}
	select {
	case <-r.Context().Done():
		t.Error("the request ended before its token")
	case <-time.After(1500 * time.Millisecond):
	}
	select {
	case <-r.Context().Done():
	case <-time.After(5 * time.Second):
		t.Error("the request of a token that has expired goes on")
	}
	if cause := context.Cause(r.Context()); yurt.CodeOf(cause) != yurt.CodeUnauthenticated || !strings.Contains(cause.Error(), "expired") {
		t.Errorf("the request ended with %v", cause)
	}
	if _, _, err := enter(short); yurt.CodeOf(err) != yurt.CodeUnauthenticated || !strings.Contains(err.Error(), "expired") {
		t.Errorf("an expired token is taken: %v", err)
	}
}

func await(t testing.TB, what string, met func() bool) {
	t.Helper()
	for begin := time.Now(); !met(); time.Sleep(50 * time.Millisecond) {
		if time.Since(begin) > 20*time.Second {
			t.Fatal("waited in vain for", what)
		}
	}
}
