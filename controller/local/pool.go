package local

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/pool"
)

// refillPause keeps a refill from competing with the first command in a claimed sandbox.
const refillPause = 50 * time.Millisecond

// supply is the executor's reserve, as warm pools see it: a claimed sandbox does not come back.
type supply struct {
	executor Executor
	logger   *slog.Logger
	claims   chan struct{} // holds one when there was a claim since the last look

	mu     sync.Mutex
	counts map[string]counts // by digest of the template, of those that were claimed
}

// counts is how many claims of a template found a sandbox, and how many did not.
type counts struct{ hits, misses int64 }

func newSupply(executor Executor, logger *slog.Logger) *supply {
	return &supply{executor: executor, logger: logger, claims: make(chan struct{}, 1), counts: map[string]counts{}}
}

// claim takes a sandbox out of the template's pool, if it has one that fits the specification.
func (s *supply) claim(ctx context.Context, spec yurt.SandboxSpec) (yurt.Sandbox, bool) {
	if spec.Template.WarmPool.Max == 0 || !spec.Warmable() {
		return yurt.Sandbox{}, false
	}
	sandbox, found, err := s.executor.ClaimSandbox(ctx, spec)
	if err != nil && ctx.Err() == nil { // a cold start will report an invalid request
		s.logger.Warn("claiming a warm sandbox", "template", spec.Template.Name, "error", err)
	}
	s.note(spec.Template.Digest(), found)
	return sandbox, found
}

// note keeps a claim in mind, and has the pools looked at.
func (s *supply) note(digest string, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.counts[digest]
	if found {
		n.hits++
	} else {
		n.misses++
	}
	s.counts[digest] = n
	select {
	case s.claims <- struct{}{}:
	default:
	}
}

// forget drops the counts of templates that are gone.
func (s *supply) forget(templates []yurt.Template) {
	there := make(map[string]bool, len(templates))
	for _, t := range templates {
		there[t.Digest()] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.counts, func(digest string, _ counts) bool { return !there[digest] })
}

// Stock implements pool.Supply.
func (s *supply) Stock(ctx context.Context) (map[string]pool.Stock, error) {
	reserves, err := s.executor.Reserves(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stock := make(map[string]pool.Stock, len(reserves))
	for digest, n := range s.counts {
		stock[digest] = pool.Stock{Hits: n.hits, Misses: n.misses, Owed: n.hits + n.misses}
	}
	for _, reserve := range reserves {
		one := stock[reserve.Digest]
		one.Ready = reserve.Ready
		stock[reserve.Digest] = one
	}
	return stock, nil
}

// Open implements pool.Supply.
func (s *supply) Open(ctx context.Context, template yurt.Template) error {
	_, err := s.executor.ReserveSandbox(ctx, template)
	return err
}

// Close implements pool.Supply.
func (s *supply) Close(ctx context.Context, digest string, slots int) error {
	for range slots {
		if err := s.executor.ReleaseReserve(ctx, digest); err != nil {
			return err
		}
	}
	return nil
}

// Changed implements pool.Supply.
func (s *supply) Changed() <-chan struct{} { return s.claims }

// empty destroys all that is in reserve.
func (s *supply) empty(ctx context.Context) error {
	reserves, err := s.executor.Reserves(ctx)
	failures := []error{err}
	for _, reserve := range reserves {
		failures = append(failures, s.Close(ctx, reserve.Digest, reserve.Ready))
	}
	return errors.Join(failures...)
}
