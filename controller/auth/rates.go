package auth

import (
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
)

const (
	// rateWindow is the time over which a limit holds: a caller may use the requests of so long at once.
	rateWindow = 10 * time.Second
	maxRated   = 10000 // callers that are remembered of each kind; with one more, all are forgotten
)

// Rates bounds the requests of each API key and of each address. Each of n controllers that live allows the n-th part, so that the
// limit holds for all together, however a load balancer spreads the requests. A nil value bounds no request. It is safe for concurrent use.
type Rates struct {
	keys, addresses rated
	live            func() int
}

// NewRates returns bounds in requests a second for a key and for an address; 0 is no bound. live returns how many controllers share
// the limit.
func NewRates(perKey, perAddress float64, live func() int) *Rates {
	return &Rates{keys: rated{limit: perKey}, addresses: rated{limit: perAddress}, live: live}
}

// LimitKeys changes the requests a second of a key.
func (r *Rates) LimitKeys(limit float64) { r.keys.change(limit) }

// LimitAddresses changes the requests a second of an address.
func (r *Rates) LimitAddresses(limit float64) { r.addresses.change(limit) }

// CheckAddress returns an error when the address of a request made too many.
func (r *Rates) CheckAddress(request *http.Request) error {
	if r == nil {
		return nil
	}
	return r.addresses.take(AddressOf(request), r.live(), "this address")
}

// CheckKey returns an error when the caller of a context, by its key or its subject, made too many requests.
func (r *Rates) CheckKey(ctx context.Context) error {
	caller, known := access.From(ctx)
	if r == nil || !known || caller.Identity() == "" {
		return nil
	}
	return r.keys.take(caller.Identity(), r.live(), "this API key or token")
}

// rated bounds the requests of callers of one kind.
type rated struct {
	mu    sync.Mutex
	limit float64 // a second, at all controllers; 0 for no bound
	known map[string]*rate.Limiter
}

func (r *rated) change(limit float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limit = limit
}

func (r *rated) now() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.limit
}

func (r *rated) take(caller string, live int, whose string) error {
	limit := r.now()
	if limit <= 0 {
		return nil
	}
	share := limit / float64(max(live, 1))
	burst := max(1, int(share*rateWindow.Seconds()))
	limiter := r.limiterOf(caller, share, burst)
	if limiter.Limit() != rate.Limit(share) { // a controller came or went, or the limit changed
		limiter.SetLimit(rate.Limit(share))
		limiter.SetBurst(burst)
	}
	if limiter.Allow() {
		return nil
	}
	err := yurt.Errorf(yurt.CodeOverloaded, "%s exceeds the rate limit of %v requests a second; wait a moment", whose, limit)
	err.RetryAfter = max(time.Second, time.Duration(float64(time.Second)/share))
	return err
}

func (r *rated) limiterOf(caller string, share float64, burst int) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	limiter := r.known[caller]
	if limiter == nil {
		if r.known == nil || len(r.known) >= maxRated {
			r.known = map[string]*rate.Limiter{}
		}
		limiter = rate.NewLimiter(rate.Limit(share), burst)
		r.known[caller] = limiter
	}
	return limiter
}
