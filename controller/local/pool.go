package local

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
)

const (
	// refillPause keeps a refill out of the way of the first command in what was claimed.
	refillPause = 50 * time.Millisecond
	// poolTick is how often the pools are looked at when nothing happens.
	poolTick = time.Second
)

// pools are the warm pools of the node. Its size follows demand: each claim that finds
// nothing doubles it, until nobody claims for a while.
type pools struct {
	executor Executor
	logger   *slog.Logger
	now      func() time.Time
	claims   chan struct{} // holds one when there was a claim since the last look

	mu     sync.Mutex
	demand map[string]*demand // by digest of the template
	counts map[string]*counts // likewise, of templates that were claimed or refilled
}

// counts is what became of a pool so far.
type counts struct {
	hits, misses, refills int64
	making                time.Duration // that the refills took together
}

// demand is what the claims of one template say.
type demand struct {
	want    int // how many to keep
	claimed time.Time
}

func newPools(executor Executor, logger *slog.Logger) *pools {
	return &pools{executor: executor, logger: logger, now: time.Now, claims: make(chan struct{}, 1), demand: map[string]*demand{}, counts: map[string]*counts{}}
}

// claim takes a sandbox out of the template's pool, if it has one and there is any.
func (p *pools) claim(ctx context.Context, spec yurt.SandboxSpec) (yurt.Sandbox, bool) {
	if spec.Template.WarmPool.Max == 0 {
		return yurt.Sandbox{}, false
	}
	sandbox, found, err := p.executor.ClaimSandbox(ctx, spec)
	if err != nil { // what is wrong with the request, a cold start will say
		p.logger.Warn("claiming a warm sandbox", "template", spec.Template.Name, "error", err)
	}
	p.note(spec.Template, found)
	return sandbox, found
}

// note keeps a claim in mind, and has the pool looked at.
func (p *pools) note(template yurt.Template, found bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	digest := template.Digest()
	if n := p.countsOf(digest); found {
		n.hits++
	} else {
		n.misses++
	}
	d := p.demand[digest]
	if d == nil {
		d = &demand{want: template.WarmPool.Min}
		p.demand[digest] = d
	}
	d.claimed = p.now()
	if !found {
		d.want = min(template.WarmPool.Max, max(1, 2*d.want))
	}
	select {
	case p.claims <- struct{}{}:
	default:
	}
}

// countsOf returns the counts of a pool. The lock is held.
func (p *pools) countsOf(digest string) *counts {
	n := p.counts[digest]
	if n == nil {
		n = &counts{}
		p.counts[digest] = n
	}
	return n
}

// wanted returns how many sandboxes of the template are to be kept.
func (p *pools) wanted(template yurt.Template) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	digest := template.Digest()
	d := p.demand[digest]
	if d != nil && p.now().Sub(d.claimed) > template.WarmPool.IdleTimeout.Std() {
		delete(p.demand, digest)
		d = nil
	}
	if d == nil {
		return template.WarmPool.Min
	}
	return min(max(d.want, template.WarmPool.Min), template.WarmPool.Max)
}

// run keeps the pools of the templates at their sizes until ctx is done, and empties
// them then.
func (p *pools) run(ctx context.Context, templates func(context.Context) ([]yurt.Template, error)) {
	ticker := time.NewTicker(poolTick)
	defer ticker.Stop()
	for ctx.Err() == nil {
		if list, err := templates(ctx); err != nil {
			p.log(ctx, "listing templates with warm pools", err)
		} else if err := p.adjust(ctx, list); err != nil {
			p.log(ctx, "filling a warm pool", err)
		}
		select {
		case <-p.claims:
			sleep(ctx, refillPause)
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	if err := p.adjust(context.WithoutCancel(ctx), nil); err != nil {
		p.logger.Error("emptying the warm pools", "error", err)
	}
}

func (p *pools) log(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		p.logger.Error(what, "error", err)
	}
}

// adjust makes what is missing, one at a time, and destroys what is too much; all of
// those whose template is none of the list any more.
func (p *pools) adjust(ctx context.Context, templates []yurt.Template) error {
	have, err := p.executor.Reserves(ctx)
	if err != nil {
		return err
	}
	p.forget(templates)
	surplus := make(map[string]int, len(have))
	for _, reserve := range have {
		surplus[reserve.Digest] = reserve.Ready
	}
	for _, template := range templates {
		digest := template.Digest()
		for surplus[digest] -= p.wanted(template); surplus[digest] < 0; surplus[digest]++ {
			if err := p.refill(ctx, template, digest); err != nil {
				return err
			}
		}
	}
	for digest, count := range surplus {
		for range count {
			if err := p.executor.ReleaseReserve(ctx, digest); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget drops the counts of pools whose template is gone.
func (p *pools) forget(templates []yurt.Template) {
	there := make(map[string]bool, len(templates))
	for _, t := range templates {
		there[t.Digest()] = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.counts, func(digest string, _ *counts) bool { return !there[digest] })
}

// refill makes one for the template's pool.
func (p *pools) refill(ctx context.Context, template yurt.Template, digest string) error {
	begun := p.now()
	if _, err := p.executor.ReserveSandbox(ctx, template); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.countsOf(digest)
	n.refills++
	n.making += p.now().Sub(begun)
	return nil
}

// list says how the pools of the templates are.
func (p *pools) list(ctx context.Context, templates []yurt.Template) ([]yurt.Pool, error) {
	have, err := p.executor.Reserves(ctx)
	if err != nil {
		return nil, err
	}
	ready := make(map[string]int, len(have))
	for _, reserve := range have {
		ready[reserve.Digest] = reserve.Ready
	}
	list := make([]yurt.Pool, len(templates))
	for i, t := range templates {
		digest, size := t.Digest(), yurt.PoolSize{Min: t.WarmPool.Min, Max: t.WarmPool.Max}
		list[i] = yurt.Pool{Template: t.Name, PoolSize: size, Target: p.wanted(t), Ready: ready[digest]}
		p.mu.Lock()
		if n := p.counts[digest]; n != nil {
			list[i].Hits, list[i].Misses, list[i].Refills = n.hits, n.misses, n.refills
			list[i].HitRate = float64(n.hits) / float64(max(1, n.hits+n.misses))
			list[i].RefillMS = n.making.Seconds() * 1000 / float64(max(1, n.refills))
		}
		p.mu.Unlock()
	}
	return list, nil
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
