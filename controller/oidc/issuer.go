package oidc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/sync/singleflight"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
)

const (
	maxTokenBytes   = 16 << 10
	maxSubjectBytes = 255 // as OpenID Connect has it
	// KeyLife is how long keys count before the issuer is asked for them again.
	KeyLife      = 5 * time.Minute
	keyLifeAway  = time.Hour // while the issuer is away
	probePause   = 10 * time.Second
	signedFailed = "fetching keys" // begins the error of the library when it could not fetch keys
)

// Config is the configuration of an [Issuer]. Logger and Now may be nil.
type Config struct {
	Issuer   string // its URL, as in the claim iss
	Audience string // in the claim aud
	Mapping  Mapping
	Logger   *slog.Logger
	Now      func() time.Time
}

// Check refuses a configuration that cannot be.
func (c Config) Check() error {
	at, err := url.Parse(c.Issuer)
	if err == nil {
		err = checkURL(at)
	}
	if err != nil {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--oidc-issuer", "%w; give the issuer's URL such as https://login.example.com/realms/acme", err)
	}
	for field, value := range map[string]string{"--oidc-audience": c.Audience, "--oidc-tenant-claim": c.Mapping.TenantClaim, "--oidc-scope-claim": c.Mapping.ScopeClaim} {
		if value == "" {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, field, "tokens of an issuer need it; give it beside --oidc-issuer")
		}
	}
	return nil
}

// Issuer checks the tokens of an issuer. It is safe for concurrent use.
type Issuer struct {
	config Config
	log    *slog.Logger
	now    func() time.Time
	next   *http.Transport
	client *http.Client // for the description; keys have one of their own
	asking singleflight.Group

	mu      sync.Mutex
	mapping Mapping
	current *provider // nil until the issuer has answered
	renewal time.Time // before which no other request asks for the keys again
}

// provider is the issuer as it described itself at a time.
type provider struct {
	verifier *oidc.IDTokenVerifier
	made     time.Time
}

// New returns the check of an issuer's tokens. It does not ask the issuer yet.
func New(config Config) (*Issuer, error) {
	if err := config.Check(); err != nil {
		return nil, err
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	next := http.DefaultTransport.(*http.Transport).Clone()
	return &Issuer{config: config, mapping: config.Mapping, log: config.Logger.With("issuer", config.Issuer), now: config.Now, next: next, client: newClient(next)}, nil
}

// Run asks the issuer for its description until it answers, so that the log of a server says that its issuer is away.
func (i *Issuer) Run(ctx context.Context) error {
	defer i.next.CloseIdleConnections()
	for {
		_, err := i.provider(ctx)
		if err == nil || ctx.Err() != nil {
			<-ctx.Done()
			return nil
		}
		i.log.Warn("the issuer of OpenID Connect is away, and its tokens are refused until it answers; API keys go on", "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(probePause):
		}
	}
}

// Identify returns the caller that a token names, and the time at which the token expires.
func (i *Issuer) Identify(ctx context.Context, token string) (access.Principal, error) {
	if len(token) > maxTokenBytes {
		return access.Principal{}, yurt.Errorf(yurt.CodeUnauthenticated, "the token is longer than %d bytes, the most that the server takes; ask for one with fewer claims", maxTokenBytes)
	}
	p, err := i.provider(ctx)
	if err != nil {
		return access.Principal{}, away(err)
	}
	verified, err := i.renewed(ctx, p, token)
	if err != nil {
		return access.Principal{}, err
	}
	return i.principal(verified)
}

// away is the error for a token that cannot be checked now.
func away(err error) error {
	refusal := yurt.Errorf(yurt.CodeUnavailable, "the token cannot be checked, since its issuer does not answer: %w; try again in a moment, or use an API key", err)
	refusal.RetryAfter = fetchPause
	return refusal
}

// principal maps the claims of a token that was verified.
func (i *Issuer) principal(token *oidc.IDToken) (access.Principal, error) {
	claims := map[string]any{}
	if err := token.Claims(&claims); err != nil {
		return access.Principal{}, yurt.Errorf(yurt.CodeUnauthenticated, "the token's claims are no JSON object; ask its issuer for another")
	}
	if token.Subject == "" || len(token.Subject) > maxSubjectBytes {
		return access.Principal{}, yurt.Errorf(yurt.CodeUnauthenticated, "the token's claim sub has 1 to %d bytes, and not %d; ask its issuer for another", maxSubjectBytes, len(token.Subject))
	}
	mapping := i.mapped()
	tenant, err := mapping.tenant(claims)
	if err != nil {
		return access.Principal{}, err
	}
	expires := token.Expiry
	return access.Principal{Tenant: tenant, Subject: token.Subject, Scopes: mapping.scopes(claims), Expires: &expires}, nil
}

// Remap changes how the claims of tokens become tenants and scopes.
func (i *Issuer) Remap(change func(*Mapping)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change(&i.mapping)
}

func (i *Issuer) mapped() Mapping {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.mapping
}

// provider returns the issuer's description, and asks for it when there is none. Requests that come meanwhile wait for the same answer.
func (i *Issuer) provider(ctx context.Context) (*provider, error) {
	i.mu.Lock()
	current := i.current
	i.mu.Unlock()
	if current != nil {
		return current, nil
	}
	made, err, _ := i.asking.Do("", func() (any, error) {
		made, err := i.ask(context.WithoutCancel(ctx))
		if err == nil {
			i.keep(made)
			i.log.Info("the issuer of OpenID Connect answers")
		}
		return made, err
	})
	if err != nil {
		return nil, err
	}
	return made.(*provider), nil
}

func (i *Issuer) keep(p *provider) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.current, i.renewal = p, p.made.Add(KeyLife)
}

// due reports whether this request is the one that asks for the keys again.
func (i *Issuer) due() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.now()
	if now.Before(i.renewal) {
		return false
	}
	i.renewal = now.Add(probePause)
	return true
}

// renewed verifies a token, by fresh keys when those of the provider are old.
func (i *Issuer) renewed(ctx context.Context, p *provider, token string) (*oidc.IDToken, error) {
	if i.due() {
		fresh, err := i.ask(ctx)
		if err == nil {
			verified, refusal := i.verify(ctx, fresh, token)
			if yurt.CodeOf(refusal) != yurt.CodeUnavailable {
				i.keep(fresh)
				return verified, refusal
			}
			err = refusal
		}
		i.log.Warn("the keys of the issuer could not be fetched again", "error", err, "age", i.now().Sub(p.made))
	}
	if i.now().Sub(p.made) > keyLifeAway {
		return nil, away(errors.New("its keys are too old"))
	}
	return i.verify(ctx, p, token)
}

// ask has the issuer describe itself.
func (i *Issuer) ask(ctx context.Context) (*provider, error) {
	described, err := oidc.NewProvider(oidc.ClientContext(ctx, i.client), i.config.Issuer)
	if err != nil {
		return nil, fmt.Errorf("asking for the issuer's description: %w", err)
	}
	var document struct {
		Keys string `json:"jwks_uri"`
	}
	if err := described.Claims(&document); err != nil {
		return nil, fmt.Errorf("reading the issuer's description: %w", err)
	}
	keys := keySet{oidc.NewRemoteKeySet(oidc.ClientContext(ctx, newClient(i.next)), document.Keys)}
	return &provider{
		verifier: oidc.NewVerifier(i.config.Issuer, keys, &oidc.Config{
			ClientID: i.config.Audience, SupportedSigningAlgs: algorithms(), Now: i.now,
		}),
		made: i.now(),
	}, nil
}

// algorithms are those by which a token may be signed. A holder of the public key cannot sign by any of them.
func algorithms() []string {
	return []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}
}

// verify checks a token by the keys of a provider.
func (i *Issuer) verify(ctx context.Context, p *provider, token string) (*oidc.IDToken, error) {
	var cause error
	verified, err := p.verifier.Verify(context.WithValue(ctx, causeKey{}, &cause), token)
	var expired *oidc.TokenExpiredError
	switch {
	case err == nil:
		return verified, nil
	case errors.As(err, &expired):
		return nil, yurt.Errorf(yurt.CodeUnauthenticated, "the token expired at %s; ask its issuer for a new one", expired.Expiry.UTC().Format(time.RFC3339))
	case errors.Is(cause, errTooSoon):
		return nil, yurt.Errorf(yurt.CodeUnauthenticated, "the token is signed by no key that its issuer has now; ask the issuer for a new one")
	case cause != nil && strings.HasPrefix(cause.Error(), signedFailed):
		return nil, away(cause)
	case cause != nil:
		return nil, yurt.Errorf(yurt.CodeUnauthenticated, "the token is signed by no key of its issuer; ask the issuer for a new one")
	default:
		return nil, yurt.Errorf(yurt.CodeUnauthenticated, "the token is refused: %s; ask the issuer %s for one whose audience is %q",
			strings.TrimPrefix(err.Error(), "oidc: "), i.config.Issuer, i.config.Audience)
	}
}

// keySet notes why a signature was refused, which the library's verifier writes into a text.
type keySet struct{ *oidc.RemoteKeySet }

type causeKey struct{}

// VerifySignature implements oidc.KeySet.
func (k keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := k.RemoteKeySet.VerifySignature(ctx, token)
	if cause, ok := ctx.Value(causeKey{}).(*error); ok {
		*cause = err
	}
	return payload, err //nolint:wrapcheck // it is the library's own
}
