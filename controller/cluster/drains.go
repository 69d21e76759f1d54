package cluster

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Drainer is an [Engine] whose operators take nodes out of service by its own means.
type Drainer interface {
	// Draining names the nodes that the engine drains, with when it ends what is on them; that is
	// the zero time where it waits for as long as it takes.
	Draining(ctx context.Context) (map[string]time.Time, error)
}

const (
	// drainsEvery is how often the engine is asked which nodes it drains.
	drainsEvery = 2 * time.Second
	// drainAhead is how long before the engine would end a session that ends by itself.
	drainAhead = 5 * time.Second
)

// overlay is a view in which the nodes drain, too, that the engine drains.
type overlay struct {
	View

	mu     sync.Mutex
	drains map[string]time.Time
}

// set takes over what the engine says.
func (o *overlay) set(drains map[string]time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drains = drains
}

// Nodes implements View.
func (o *overlay) Nodes() []NodeState {
	nodes := o.View.Nodes()
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.drains) == 0 {
		return nodes
	}
	nodes = slices.Clone(nodes)
	for i := range nodes {
		o.drain(&nodes[i])
	}
	return nodes
}

// Node implements View.
func (o *overlay) Node(name string) (NodeState, bool) {
	node, there := o.View.Node(name)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drain(&node)
	return node, there
}

// drain is called with the lock held.
func (o *overlay) drain(node *NodeState) {
	by, drains := o.drains[node.Name]
	if !drains || node.Draining {
		return
	}
	node.Draining, node.ByEngine = true, true
	if !by.IsZero() {
		node.EndsBy = by.Add(-drainAhead)
	}
}

// followDrains keeps what the engine drains, until ctx is done. While the engine is away, that
// is what it was.
func (p *Placer) followDrains(ctx context.Context) {
	drainer, ok := p.engine.(Drainer)
	if !ok {
		return
	}
	tick := time.NewTicker(drainsEvery)
	defer tick.Stop()
	for said := ""; ; {
		drains, err := drainer.Draining(ctx)
		switch {
		case err == nil:
			p.view.set(drains)
			said = ""
		case ctx.Err() == nil && said != err.Error(): // an outage is told of once
			p.log.Warn("asking which nodes are drained", "error", err)
			said = err.Error()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
