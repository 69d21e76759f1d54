package auth

import (
	"context"
	"errors"
	"log/slog"
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
	idleLimit     = 10 * time.Minute
	usePeriod     = time.Minute // between two writes of the last use of a key
	purgePeriod   = time.Hour
	keepKeys      = 30 * 24 * time.Hour // that were revoked or have expired

	// Keys that are not in memory cost a look into the store, so that guesses are bounded: of one address, and of all.
	looksOfAddress, burstOfAddress = 10, 50
	looksOfAll, burstOfAll         = 200, 400
	maxAddresses                   = 4096
)

// Config is the configuration of an [Authenticator]. Store is needed.
type Config struct {
	Store   Store
	Now     func() time.Time      // nil: the machine's clock
	Logger  *slog.Logger          // nil: logs nowhere
	Metrics prometheus.Registerer // nil: no metrics
}

// Authenticator checks API keys.
type Authenticator struct {
	store    Store
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
	confirmed atomic.Int64            // when the store last had it in force, as elapsed says
	used      atomic.Int64            // last, in nanoseconds since 1970
	noted     int64                   // the use that the store knows; of Run alone
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
		Name: "yurt_auth_failures_total", Help: "Requests that were refused because of their API key, by reason.",
	}, []string{"reason"})
	if config.Metrics != nil {
		if err := config.Metrics.Register(failures); err != nil {
			return nil, err
		}
	}
	return &Authenticator{
		store: config.Store, now: config.Now, begun: config.Now(), log: config.Logger, failures: failures,
		looks: newLooks(config.Now), known: map[access.Hash]*known{},
	}, nil
}

// enter returns the principal of an API key that a request from an address carries. The caller calls leave when the request
// has ended.
func (a *Authenticator) enter(ctx context.Context, key, address string) (_ *access.Principal, leave func(), err error) {
	hash, ok := access.HashKey(key)
	if !ok {
		return nil, nil, a.refuse("malformed", "this is no API key; one begins with %s", access.KeyPrefix)
	}
	now := a.now()
	k := a.find(hash, now)
	if k == nil {
		if k, err = a.look(ctx, hash, address, now); err != nil {
			return nil, nil, err
		}
	}
	if why := k.key.Refused(now); why != "" || !k.hash.Equal(hash) {
		k.open.Add(-1)
		return nil, nil, a.refuse("refused", "%s; ask for a new one", why)
	}
	k.used.Store(now.UnixNano())
	return k.principal, func() { k.open.Add(-1) }, nil
}

// find returns a key in memory that the store has confirmed of late, with one more request under way.
func (a *Authenticator) find(hash access.Hash, now time.Time) *known {
	a.mu.RLock()
	defer a.mu.RUnlock()
	k := a.known[hash]
	if k == nil || a.elapsed(now)-k.confirmed.Load() > int64(confirmLimit) {
		return nil
	}
	k.open.Add(1)
	return k
}

// look asks the store for a key, and keeps it in memory, with one more request under way.
func (a *Authenticator) look(ctx context.Context, hash access.Hash, address string, now time.Time) (*known, error) {
	if !a.looks.allow(address) {
		a.failures.WithLabelValues("limited").Inc()
		err := yurt.Errorf(yurt.CodeOverloaded, "too many API keys that are not known were tried; try again in a moment")
		err.RetryAfter = time.Second
		return nil, err
	}
	found, err := a.store.KeysByHash(ctx, []access.Hash{hash})
	if err != nil {
		return nil, err
	}
	key, there := found[hash]
	if !there {
		return nil, a.refuse("unknown", "the API key is not valid; ask for a new one")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.known[hash]
	if k == nil {
		k = newKnown(hash, key)
		a.known[hash] = k
	}
	k.confirmed.Store(a.elapsed(now))
	k.open.Add(1)
	return k, nil
}

// elapsed is a time on a clock that is not set: a host whose clock is put back trusts no key longer for it.
func (a *Authenticator) elapsed(now time.Time) int64 { return int64(now.Sub(a.begun)) }

func newKnown(hash access.Hash, key access.Key) *known {
	live, end := context.WithCancelCause(context.Background())
	return &known{
		hash: hash, key: key, end: end,
		principal: &access.Principal{Tenant: key.Tenant, KeyID: key.ID, Scopes: key.Scopes, Session: key.SessionID, Expires: key.ExpiresAt, Live: live},
	}
}

// refuse counts a refusal and makes its error, which says no more than the caller knows.
func (a *Authenticator) refuse(reason, format string, args ...any) error {
	a.failures.WithLabelValues(reason).Inc()
	return yurt.Errorf(yurt.CodeUnauthenticated, format, args...)
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
