package quota

import (
	"context"
	"sync"
	"time"

	"github.com/yurtrun/yurt/access"
)

const (
	lookPeriod = 5 * time.Second // between two looks at the results of a tenant
	maxGuarded = 10000           // tenants that are remembered
)

// Guard refuses executions of tenants that are over their quota of stored results. Its methods may be called concurrently.
type Guard struct {
	store Store

	mu    sync.Mutex
	known map[string]*verdict
}

// verdict is the outcome of the last look.
type verdict struct {
	mu     sync.Mutex // held for a look
	looked time.Time
	err    error
}

// NewGuard returns the guard of a store.
func NewGuard(store Store) *Guard { return &Guard{store: store, known: map[string]*verdict{}} }

// Admit returns nil when a tenant may store more results.
func (g *Guard) Admit(ctx context.Context, tenant string) error {
	v := g.verdictOf(tenant)
	v.mu.Lock()
	defer v.mu.Unlock()
	if time.Since(v.looked) < lookPeriod {
		return v.err
	}
	quotas, err := g.store.Quotas(ctx, tenant)
	if err != nil {
		return err
	}
	var used access.Usage
	if quotas.Storage != nil {
		if used, err = g.store.Usage(ctx, tenant, time.Now()); err != nil {
			return err
		}
	}
	v.looked, v.err = time.Now(), nil
	if over(quotas.Storage, used.Storage, 1) {
		v.err = exceeded("storage", float64(used.Storage), float64(*quotas.Storage), "end sessions with results=delete, or ask the operator for more")
	}
	return v.err
}

func (g *Guard) verdictOf(tenant string) *verdict {
	g.mu.Lock()
	defer g.mu.Unlock()
	v := g.known[tenant]
	if v == nil {
		if len(g.known) >= maxGuarded {
			clear(g.known)
		}
		v = &verdict{}
		g.known[tenant] = v
	}
	return v
}
