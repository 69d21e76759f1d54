package cluster

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/pool"
)

const (
	listTick  = 250 * time.Millisecond // between two tries of a new leader to list the engine's slots
	listEvery = 10 * time.Second       // after which it does so again
)

// Pools implements contract.Placer.
func (p *Placer) Pools(ctx context.Context, list []yurt.Template) ([]yurt.Pool, error) {
	pools, err := p.pools.Pools(ctx, list)
	if err != nil {
		return nil, err
	}
	// Claims of this controller that the nodes may not show yet.
	taken := p.taken()
	for i, t := range list {
		n := min(taken[t.Digest()], pools[i].Ready)
		pools[i].Ready -= n
		pools[i].Claimed += n
	}
	return pools, nil
}

// taken counts the sandboxes, by digest, that the view shows although they are spoken for.
func (p *Placer) taken() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.chooser.ledger.taken(time.Now())
}

// PoolMetrics returns the figures of the warm pools.
func (p *Placer) PoolMetrics() prometheus.Collector { return p.pools.Collector() }

// RunPools keeps the warm pools of the templates at their sizes, while leads says that this controller leads; otherwise it only
// observes, and follows the engine's news of the nodes. It returns when ctx is done, and leaves the slots to the next leader. It is
// called once.
func (p *Placer) RunPools(ctx context.Context, list pool.Templates, leads func() bool) {
	w := p.warm
	w.mu.Lock()
	w.leads = leads
	w.mu.Unlock()
	var tasks sync.WaitGroup
	defer tasks.Wait()
	tasks.Go(func() { w.follow(ctx) })
	tasks.Go(func() { w.keepListing(ctx, leads) })
	tasks.Go(func() { p.followEngine(ctx) })
	p.pools.Run(ctx, w.remembered(list))
}

// leading reports whether this controller sizes the pools. A new leader first asks the engine for its predecessor's last orders,
// so that it does not repeat them.
func (w *warm) leading() bool {
	w.mu.Lock()
	leads, listed := w.leads, w.listed
	w.mu.Unlock()
	return leads != nil && listed && leads()
}

// follow passes on that the view has changed.
func (w *warm) follow(ctx context.Context) {
	for {
		changed := w.placer.view.Changed()
		select {
		case w.changed <- struct{}{}:
		default:
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// remembered returns the templates, asked for not at every change.
func (w *warm) remembered(list pool.Templates) pool.Templates {
	var known []yurt.Template
	var at time.Time
	return func(ctx context.Context) ([]yurt.Template, error) {
		if time.Since(at) < templates {
			return known, nil
		}
		now, err := list(ctx)
		if err != nil {
			return nil, err
		}
		w.know(now)
		known, at = now, time.Now()
		return known, nil
	}
}

// keepListing asks the engine for its slots, now and then, while this controller leads.
func (w *warm) keepListing(ctx context.Context, leads func() bool) {
	ticker := time.NewTicker(listTick)
	defer ticker.Stop()
	var at time.Time
	for {
		switch {
		case !leads():
			at = time.Time{}
			w.setUnseen(nil, false)
		case time.Since(at) >= listEvery:
			if err := w.list(ctx); err == nil {
				at = time.Now()
			} else if ctx.Err() == nil {
				w.placer.log.Warn("listing the slots of the cluster", "error", err)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// leave ends, in the background, idle slots of a node that is being drained: no session can claim them.
func (w *warm) leave(node, digest string, idle int) {
	w.placer.background(func(ctx context.Context) {
		if _, err := w.retire(ctx, node, digest, idle); err != nil {
			w.placer.log.Warn("ending the idle slots of a node that is drained", "node", node, "error", err)
		}
	})
}

func (w *warm) setUnseen(unseen map[string]int, listed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unseen, w.listed = unseen, listed
}

// list finds out which slots the engine has granted that no node shows, and has it forget
// those that have ended. The slots of a node that is lost, for the view and for the engine, have
// ended too: the engine alone would wait for the node for much longer.
func (w *warm) list(ctx context.Context) error {
	jobs, err := w.placer.engine.Jobs(ctx)
	if err != nil {
		return err
	}
	granted := map[string]int{}
	w.mu.Lock()
	for _, job := range jobs {
		if _, ours := w.opening[job.SlotID]; ours || !strings.HasPrefix(job.SlotID, warmPrefix) {
			continue
		}
		if job.Ended || job.Away && w.placer.clients.lost(job.Node) {
			w.placer.stopSlot(job.SlotID)
			continue
		}
		granted[job.Digest]++
	}
	w.mu.Unlock()
	for _, node := range w.placer.view.Nodes() {
		for digest, of := range node.Capacity.Templates {
			granted[digest] -= max(0, of.Slots-of.Own)
			if node.Draining && node.Healthy && of.Warm > 0 {
				w.leave(node.Name, digest, of.Warm)
			}
		}
	}
	unseen := map[string]int{}
	for digest, n := range granted {
		if n > 0 {
			unseen[digest] = n
		}
	}
	w.setUnseen(unseen, true)
	return nil
}
