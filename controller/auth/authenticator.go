package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
)

const (
	refreshPeriod = time.Second     // between two comparisons with the store
	refreshLimit  = time.Second     // for one of them
	confirmLimit  = 3 * time.Second // after which a key that the store did not confirm is refused
	issuedLimit   = 5 * time.Minute // after which the signature of an issuer's token is checked again
	idleLimit     = 10 * time.Minute
	usePeriod     = time.Minute // between two writes of the last use of a key
	purgePeriod   = time.Hour
	keepKeys      = 30 * 24 * time.Hour // that were revoked or have expired

	// Keys that are not in memory cost a look into the store, so that guesses are bounded: of one address, and of all.
	looksOfAddress, burstOfAddress = 10, 50
	looksOfAll, burstOfAll         = 200, 400
	maxAddresses                   = 4096
)

// maxIssued bounds the tokens of an issuer that are kept in memory. One beyond is refused, since its streams would have no end.
const maxIssued = 100000

// Issuer checks the tokens of an issuer of OpenID Connect.
type Issuer interface {
	// Identify returns the caller that a token names: its tenant, subject, scopes and expiry.
	Identify(ctx context.Context, token string) (access.Principal, error)
}

// Config is the configuration of an [Authenticator]. Store is needed.
type Config struct {
	Store   Store
	Issuer  Issuer                // nil: API keys alone open doors
	Now     func() time.Time      // nil: the machine's clock
	Logger  *slog.Logger          // nil: logs nowhere
	Metrics prometheus.Registerer // nil: no metrics
}

// Authenticator checks API keys, and tokens of an issuer.
type Authenticator struct {
	store    Store
	issuer   Issuer // nil without one
	now      func() time.Time
	begun    time.Time // when it was made, with a reading of the monotonic clock
	log      *slog.Logger
	failures *prometheus.CounterVec
	looks    *looks

	mu     sync.RWMutex
	known  map[access.Hash]*known
	purged time.Time // last; of Run alone
}

// known is a key that is in use.
type known struct {
	hash      access.Hash
	key       access.Key
	principal *access.Principal
	end       context.CancelCauseFunc // of the principal's life
	confirmed atomic.Int64            // when the store or the issuer last had it in force, as elapsed says
	used      atomic.Int64            // last, in nanoseconds since 1970
	noted     atomic.Int64            // the use that the store knows
	open      atomic.Int64            // requests under way
}

// New returns an authenticator.
func New(config Config) (*Authenticator, error) {
	if config.Store == nil {
		return nil, errors.New("making an authenticator: it needs a store")
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	failures := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "yurt_auth_failures_total", Help: "Requests that were refused because of their API key or token, by reason.",
	}, []string{"reason"})
	if config.Metrics != nil {
		if err := config.Metrics.Register(failures); err != nil {
			return nil, err
		}
	}
	return &Authenticator{
		store: config.Store, issuer: config.Issuer, now: config.Now, begun: config.Now(), log: config.Logger, failures: failures,
		looks: newLooks(config.Now), known: map[access.Hash]*known{},
	}, nil
}

// limit is how long a request may be let in without a further look into the store or at the token.
func (k *known) limit() time.Duration {
	if k.issued() {
		return issuedLimit
	}
	return confirmLimit
}

// issued reports whether an issuer made it, so that the store does not know it.
func (k *known) issued() bool { return k.principal.Subject != "" }

// refused says why it opens no door at a time; it is empty for one in force.
func (k *known) refused(now time.Time) string {
	if k.issued() && k.key.Refused(now) != "" {
		return "the token has expired"
	}
	return k.key.Refused(now)
}

// enter returns the principal of an API key, or of an issuer's token, that a request from an address carries. The caller calls leave when the request
// has ended.
func (a *Authenticator) enter(ctx context.Context, key, address string) (_ *access.Principal, leave func(), err error) {
	hash, look, err := a.read(key)
	if err != nil {
		return nil, nil, err
	}
	now := a.now()
	k := a.find(hash, now)
	if k == nil {
		if k, err = a.lookup(ctx, hash, address, now, look); err != nil {
			return nil, nil, err
		}
	}
	if !k.hash.Equal(hash) {
		k.open.Add(-1)
		return nil, nil, a.refuse("unknown", "the API key or session token is not valid; ask for a new one")
	}
	if why := k.refused(now); why != "" {
		k.open.Add(-1)
		a.log.WarnContext(ctx, "a key or token that is not in force was refused", "key_id", k.principal.KeyID, "tenant", k.principal.Tenant, "address", address, "reason", why)
		return nil, nil, &refusedError{a.refuse("refused", "%s; ask for a new one", why), k.principal}
	}
	k.used.Store(now.UnixNano())
	return k.principal, func() { k.open.Add(-1) }, nil
}

// find returns a key in memory that the store has confirmed of late, with one more request under way.
func (a *Authenticator) find(hash access.Hash, now time.Time) *known {
	a.mu.RLock()
	defer a.mu.RUnlock()
	k := a.known[hash]
	if k == nil || a.elapsed(now)-k.confirmed.Load() > int64(k.limit()) {
		return nil
	}
	k.open.Add(1)
	return k
}

// look asks for a key that is not in memory.
type look func(ctx context.Context) (access.Key, access.Principal, error)

// read tells an API key from a token of an issuer. Each has a hash, and a place where it is looked up.
func (a *Authenticator) read(key string) (access.Hash, look, error) {
	if a.issuer != nil && !strings.HasPrefix(key, access.KeyPrefix) && key != "" {
		return sha256.Sum256([]byte(key)), func(ctx context.Context) (access.Key, access.Principal, error) { return a.identify(ctx, key) }, nil
	}
	hash, ok := access.HashKey(key)
	if !ok {
		return hash, nil, a.refuse("malformed", "this is no API key; one begins with %s", access.KeyPrefix)
	}
	return hash, func(ctx context.Context) (access.Key, access.Principal, error) { return a.ask(ctx, hash) }, nil
}

// identify has the issuer's part check a token.
func (a *Authenticator) identify(ctx context.Context, token string) (access.Key, access.Principal, error) {
	p, err := a.issuer.Identify(ctx, token)
	if err != nil {
		if yurt.CodeOf(err) == yurt.CodeUnauthenticated {
			a.failures.WithLabelValues("token").Inc()
		}
		return access.Key{}, p, err
	}
	return access.Key{ExpiresAt: p.Expires}, p, nil
}

// ask asks the store for a key.
func (a *Authenticator) ask(ctx context.Context, hash access.Hash) (access.Key, access.Principal, error) {
	found, err := a.store.KeysByHash(ctx, []access.Hash{hash})
	if err != nil {
		return access.Key{}, access.Principal{}, err
	}
	key, there := found[hash]
	if !there {
		return key, access.Principal{}, a.refuse("unknown", "the API key or session token is not valid; ask for a new one")
	}
	return key, access.Principal{Tenant: key.Tenant, KeyID: key.ID, Scopes: key.Scopes, Session: key.SessionID, Expires: key.ExpiresAt}, nil
}

// lookup looks for a key, and keeps it in memory, with one more request under way.
func (a *Authenticator) lookup(ctx context.Context, hash access.Hash, address string, now time.Time, look look) (*known, error) {
	if !a.looks.allow(address) {
		a.failures.WithLabelValues("limited").Inc()
		err := yurt.Errorf(yurt.CodeOverloaded, "too many API keys that are not known were tried; try again in a moment")
		err.RetryAfter = time.Second
		return nil, err
	}
	key, principal, err := look(ctx)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.known[hash]
	if k == nil {
		if principal.Subject != "" && len(a.known) >= maxIssued {
			return nil, yurt.Errorf(yurt.CodeOverloaded, "too many tokens are in use; try again in a moment, or use an API key")
		}
		k = newKnown(hash, key, principal)
		a.known[hash] = k
	}
	k.confirmed.Store(a.elapsed(now))
	k.open.Add(1)
	return k, nil
}

// elapsed is a time on a clock that is not set: a host whose clock is put back trusts no key longer for it.
func (a *Authenticator) elapsed(now time.Time) int64 { return int64(now.Sub(a.begun)) }

func newKnown(hash access.Hash, key access.Key, principal access.Principal) *known {
	live, end := context.WithCancelCause(context.Background())
	principal.Live = live
	return &known{hash: hash, key: key, end: end, principal: &principal}
}

// refuse counts a refusal and makes its error, which says no more than the caller knows.
func (a *Authenticator) refuse(reason, format string, args ...any) error {
	a.failures.WithLabelValues(reason).Inc()
	return yurt.Errorf(yurt.CodeUnauthenticated, format, args...)
}

// refusedError is the error of a key or token that is known, and in force no longer.
type refusedError struct {
	error
	holder *access.Principal
}

func (e *refusedError) Unwrap() error { return e.error }

// HolderOf returns the holder of the key or token whose refusal the error is. It is nil for other errors, and for an unknown key.
// The audit log names the holder; the request has no rights of the holder.
func HolderOf(err error) *access.Principal {
	var refused *refusedError
	if errors.As(err, &refused) {
		return refused.holder
	}
	return nil
}

// looks bounds how often the store is asked for keys that are not in memory.
type looks struct {
	now       func() time.Time
	all       *rate.Limiter
	mu        sync.Mutex
	addresses map[string]*rate.Limiter
}

func newLooks(now func() time.Time) *looks {
	return &looks{now: now, all: rate.NewLimiter(looksOfAll, burstOfAll), addresses: map[string]*rate.Limiter{}}
}

// allow reports whether the store may be asked once more for a request from an address.
func (l *looks) allow(address string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter := l.addresses[address]
	if limiter == nil {
		if len(l.addresses) >= maxAddresses {
			clear(l.addresses)
		}
		limiter = rate.NewLimiter(looksOfAddress, burstOfAddress)
		l.addresses[address] = limiter
	}
	now := l.now()
	return limiter.AllowN(now, 1) && l.all.AllowN(now, 1)
}
