package auth_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counted is a store that counts how often it is asked for keys, and that can be away.
type counted struct {
	auth.Store
	asked atomic.Int64
	away  atomic.Bool
}

func (c *counted) KeysByHash(ctx context.Context, hashes []access.Hash) (map[access.Hash]access.Key, error) {
	c.asked.Add(1)
	if c.away.Load() {
		return nil, yurt.Errorf(yurt.CodeUnavailable, "the store is away")
	}
	return c.Store.KeysByHash(ctx, hashes)
}

func newStore(t testing.TB) *counted {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "yurt.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return &counted{Store: sqlite.Keys(store)}
}

// running returns an authenticator of a controller of the store.
func running(t testing.TB, store auth.Store) *auth.Authenticator {
	t.Helper()
	a, err := auth.New(auth.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		if err := a.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		stop()
		group.Wait()
	})
	return a
}

// operator is the context of a caller that manages all keys.
func operator(t testing.TB) context.Context {
	ctx, done := access.With(context.WithoutCancel(t.Context()), access.Local())
	t.Cleanup(done)
	return ctx
}

func makeKey(t testing.TB, store auth.Store, req auth.KeyRequest) (access.Key, access.Secret) {
	t.Helper()
	key, secret, err := auth.NewKeys(store, nil).Create(operator(t), req)
	if err != nil {
		t.Fatal("making a key:", err)
	}
	return key, secret
}

func request(header string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if header != "" {
		r.Header.Set("Authorization", header)
	}
	return r
}

func TestKeysAreChecked(t *testing.T) {
	store := newStore(t)
	a := running(t, store)
	key, secret := makeKey(t, store, auth.KeyRequest{Tenant: "acme", Scopes: []access.Scope{access.Files}})
	r, done, err := a.Enter(request("bearer " + secret.Reveal()))
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	caller, err := access.Caller(r.Context())
	if err != nil || caller.Tenant != "acme" || caller.KeyID != key.ID || !caller.May(access.Files) || caller.May(access.Admin) || caller.Operates() {
		t.Errorf("the caller is %+v, error %v", caller, err)
	}
	other := access.GenerateKey().Reveal()
	for _, header := range []string{
		"Bearer", "Bearer ", "Bearer yurt_", "Bearer " + other, "Basic " + secret.Reveal(), secret.Reveal(),
		"Bearer " + secret.Reveal()[1:], "Bearer " + secret.Reveal() + "a", "Bearer " + key.ID,
	} {
		if _, _, err := a.Enter(request(header)); yurt.CodeOf(err) != yurt.CodeUnauthenticated {
			t.Errorf("Authorization: %q gives %v, want it refused", header, err)
		}
	}
	r, done, err = a.Enter(request(""))
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if _, err := access.Caller(r.Context()); yurt.CodeOf(err) != yurt.CodeUnauthenticated {
		t.Errorf("a request without a key has a caller: %v", err)
	}
}

// TestNoRoundTrip: requests after the first cause no call of the store.
func TestNoRoundTrip(t *testing.T) {
	store := newStore(t)
	a, err := auth.New(auth.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	_, secret := makeKey(t, store, auth.KeyRequest{Scopes: []access.Scope{access.Files}})
	for range 100 {
		_, done, err := a.Enter(request("Bearer " + secret.Reveal()))
		if err != nil {
			t.Fatal(err)
		}
		done()
	}
	if store.asked.Load() != 1 {
		t.Errorf("100 requests asked the store %d times, want once", store.asked.Load())
	}
}

// TestRevocation revokes a key at one controller while another one serves a request of it.
func TestRevocation(t *testing.T) {
	store := newStore(t)
	a := running(t, store)
	key, secret := makeKey(t, store, auth.KeyRequest{Scopes: []access.Scope{access.Files}})
	r, done, err := a.Enter(request("Bearer " + secret.Reveal()))
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if _, err := auth.NewKeys(store, nil).Revoke(operator(t), key.ID); err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.Context().Done():
	case <-time.After(5 * time.Second):
		t.Fatal("the request of a revoked key goes on after 5 s")
	}
	if cause := context.Cause(r.Context()); yurt.CodeOf(cause) != yurt.CodeUnauthenticated {
		t.Errorf("the request ended with %v, want the revocation", cause)
	}
	if _, _, err := a.Enter(request("Bearer " + secret.Reveal())); yurt.CodeOf(err) != yurt.CodeUnauthenticated {
		t.Errorf("a revoked key is taken: %v", err)
	} else {
		wantHolder(t, err, key)
	}
	if _, _, err := running(t, store).Enter(request("Bearer " + secret.Reveal())); yurt.CodeOf(err) != yurt.CodeUnauthenticated {
		t.Errorf("a revoked key is taken by a controller that never saw it: %v", err)
	} else {
		wantHolder(t, err, key)
	}
	if _, _, err := a.Enter(request("Bearer " + access.GenerateKey().Reveal())); auth.HolderOf(err) != nil {
		t.Errorf("an unknown key has the holder %+v", auth.HolderOf(err))
	}
}

// wantHolder wants a refusal to tell the audit log the key.
func wantHolder(t *testing.T, err error, key access.Key) {
	t.Helper()
	if holder := auth.HolderOf(err); holder == nil || holder.KeyID != key.ID || holder.Tenant != key.Tenant {
		t.Errorf("the refusal %q has the holder %+v, expected %s of %s", err, holder, key.ID, key.Tenant)
	}
	if strings.Contains(err.Error(), key.ID) {
		t.Errorf("the caller is told the key's id: %v", err)
	}
}

func TestExpiry(t *testing.T) {
	store := newStore(t)
	a := running(t, store)
	life := yurt.Duration(time.Second)
	key, secret := makeKey(t, store, auth.KeyRequest{Scopes: []access.Scope{access.Files}, Expires: &life})
	r, done, err := a.Enter(request("Bearer " + secret.Reveal()))
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	select {
	case <-r.Context().Done():
	case <-time.After(4 * time.Second):
		t.Fatal("the request of an expired key goes on")
	}
	if _, _, err := a.Enter(request("Bearer " + secret.Reveal())); yurt.CodeOf(err) != yurt.CodeUnauthenticated {
		t.Errorf("an expired key is taken: %v", err)
	} else {
		wantHolder(t, err, key)
	}
}

// TestStoreAway: a controller that does not reach the store does not know which keys were revoked.
func TestStoreAway(t *testing.T) {
	store := newStore(t)
	a := running(t, store)
	_, secret := makeKey(t, store, auth.KeyRequest{Scopes: []access.Scope{access.Files}})
	r, done, err := a.Enter(request("Bearer " + secret.Reveal()))
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	store.away.Store(true)
	select {
	case <-r.Context().Done():
	case <-time.After(5 * time.Second):
		t.Fatal("a request goes on 5 s after the store went away")
	}
	if _, _, err := a.Enter(request("Bearer " + secret.Reveal())); yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("a key that the store does not confirm gives %v, want unavailable", err)
	}
	store.away.Store(false)
	_, done, err = a.Enter(request("Bearer " + secret.Reveal()))
	if err != nil {
		t.Fatal("after the store is back:", err)
	}
	done()
}

// TestGuesses: keys that are not known cost few looks into the store, and do not keep a known key out.
func TestGuesses(t *testing.T) {
	store := newStore(t)
	a := running(t, store)
	_, secret := makeKey(t, store, auth.KeyRequest{Scopes: []access.Scope{access.Files}})
	_, done, err := a.Enter(request("Bearer " + secret.Reveal()))
	if err != nil {
		t.Fatal(err)
	}
	done()
	limited := 0
	for range 2000 {
		if _, _, err := a.Enter(request("Bearer " + access.GenerateKey().Reveal())); yurt.CodeOf(err) == yurt.CodeOverloaded {
			limited++
		}
	}
	if asked := store.asked.Load(); asked > 200 || limited < 1800 {
		t.Errorf("2000 guesses asked the store %d times, and %d were limited", asked, limited)
	}
	_, done, err = a.Enter(request("Bearer " + secret.Reveal()))
	if err != nil {
		t.Fatal("a known key beside guesses:", err)
	}
	done()
}

func TestUseIsNoted(t *testing.T) {
	store := newStore(t)
	a := running(t, store)
	key, secret := makeKey(t, store, auth.KeyRequest{Scopes: []access.Scope{access.Files}})
	_, done, err := a.Enter(request("Bearer " + secret.Reveal()))
	if err != nil {
		t.Fatal(err)
	}
	done()
	for range 50 {
		list, err := auth.NewKeys(store, nil).List(operator(t), "", contract.Position{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if list[0].ID == key.ID && list[0].UsedAt != nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("the use of a key was not noted within 5 s")
}

// TestTenantsOfKeys: a tenant's admin reaches keys of its own tenant alone.
func TestTenantsOfKeys(t *testing.T) {
	store := newStore(t)
	keys := auth.NewKeys(store, nil)
	admin := func(tenant string) context.Context {
		ctx, done := access.With(t.Context(), &access.Principal{Tenant: tenant, Scopes: []access.Scope{access.Admin}})
		t.Cleanup(done)
		return ctx
	}
	theirs, _ := makeKey(t, store, auth.KeyRequest{Tenant: "other", Scopes: []access.Scope{access.Files}})
	mine, _, err := keys.Create(admin("acme"), auth.KeyRequest{Scopes: []access.Scope{access.Files, access.Files}})
	if err != nil || mine.Tenant != "acme" || len(mine.Scopes) != 1 {
		t.Fatalf("a tenant's admin made %+v, error %v", mine, err)
	}
	if _, _, err := keys.Create(admin("acme"), auth.KeyRequest{Tenant: "other", Scopes: []access.Scope{access.Files}}); yurt.CodeOf(err) != yurt.CodeForbidden {
		t.Errorf("a key of another tenant was made: %v", err)
	}
	if _, err := keys.Revoke(admin("acme"), theirs.ID); yurt.CodeOf(err) != yurt.CodeKeyNotFound {
		t.Errorf("a key of another tenant was revoked: %v", err)
	}
	for _, tenant := range []string{"other", "*"} {
		if _, err := keys.List(admin("acme"), tenant, contract.Position{}, 0); yurt.CodeOf(err) != yurt.CodeForbidden {
			t.Errorf("the keys of %s were listed: %v", tenant, err)
		}
	}
	list, err := keys.List(admin("acme"), "", contract.Position{}, 0)
	if err != nil || len(list) != 1 || list[0].ID != mine.ID {
		t.Errorf("the list is %+v, error %v, want the tenant's key alone", list, err)
	}
	if _, err := keys.List(t.Context(), "", contract.Position{}, 0); yurt.CodeOf(err) != yurt.CodeUnauthenticated {
		t.Errorf("keys were listed without a caller: %v", err)
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	keys := auth.NewKeys(newStore(t), nil)
	files := []access.Scope{access.Files}
	short, long := yurt.Duration(time.Millisecond), yurt.Duration(1<<62)
	for field, req := range map[string]auth.KeyRequest{
		"tenant":     {Tenant: "A b", Scopes: files},
		"scopes":     {},
		"name":       {Name: "\x00", Scopes: files},
		"expires_in": {Scopes: files, Expires: &short},
	} {
		if _, _, err := keys.Create(operator(t), req); fieldOf(err) != field {
			t.Errorf("%+v gives %v, want an error of %s", req, err, field)
		}
	}
	for _, req := range []auth.KeyRequest{{Scopes: []access.Scope{"root"}}, {Scopes: files, Expires: &long}, {Tenant: "-", Scopes: files}} {
		if _, _, err := keys.Create(operator(t), req); fieldOf(err) == "" {
			t.Errorf("%+v gives %v, want it refused", req, err)
		}
	}
}

func fieldOf(err error) string {
	if coded, ok := err.(*yurt.Error); ok { //nolint:errorlint // the error itself has the field
		return coded.Field
	}
	return ""
}

// TestPolicyFailsClosed: an operation that is not in the table is refused, and one without a caller too.
func TestPolicyFailsClosed(t *testing.T) {
	policy := auth.NewPolicy()
	if err := policy.Decide(operator(t), "forgotten"); yurt.CodeOf(err) != yurt.CodeForbidden {
		t.Errorf("an unknown operation gives %v", err)
	}
	if err := policy.Decide(t.Context(), "create-session"); yurt.CodeOf(err) != yurt.CodeUnauthenticated {
		t.Errorf("an operation without a caller gives %v", err)
	}
	if err := policy.Decide(t.Context(), "health"); err != nil {
		t.Errorf("an open operation gives %v", err)
	}
	bound := &access.Principal{Tenant: "acme", Session: "ses_a", Scopes: []access.Scope{access.SessionsRead}}
	if err := auth.Need(bound, access.SessionsWrite); err == nil || !strings.Contains(err.Error(), "the session token lacks the scope sessions:write") {
		t.Errorf("a session token without a scope gives %v", err)
	}
}

func BenchmarkEnter(b *testing.B) {
	store := newStore(b)
	a := running(b, store)
	_, secret := makeKey(b, store, auth.KeyRequest{Scopes: []access.Scope{access.SessionsRead}})
	policy := auth.NewPolicy()
	r := request("Bearer " + secret.Reveal())
	for b.Loop() {
		entered, done, err := a.Enter(r)
		if err == nil {
			err = policy.Decide(entered.Context(), "get-session")
		}
		if err != nil {
			b.Fatal(err)
		}
		done()
	}
}
