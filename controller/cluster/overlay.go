package cluster

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// EngineNode is the engine's news of a node that is not simply ready.
type EngineNode struct {
	Status string    // the engine's word for a node where it places nothing new, such as "down"; "" where it does
	Drains bool      // the engine takes the node out of service
	EndsBy time.Time // when the drain ends the node's tasks; zero where the engine sets no time
}

// NodeTeller is an [Engine] that has its own knowledge of the nodes.
type NodeTeller interface {
	// NodesNotReady describes, by name, the nodes that the engine drains or cannot reach.
	NodesNotReady(ctx context.Context) (map[string]EngineNode, error)
}

const (
	// engineNodesEvery is how often the engine is asked which nodes are not ready.
	engineNodesEvery = 2 * time.Second
	// drainAhead is how long before the engine would end a session that ends by itself.
	drainAhead = 5 * time.Second
)

// overlay is a view that also shows the engine's news of the nodes.
type overlay struct {
	View

	mu    sync.Mutex
	known map[string]EngineNode
}

// set takes over the engine's news.
func (o *overlay) set(known map[string]EngineNode) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known = known
}

// Nodes implements View.
func (o *overlay) Nodes() []NodeState {
	nodes := o.View.Nodes()
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.known) == 0 {
		return nodes
	}
	nodes = slices.Clone(nodes)
	for i := range nodes {
		o.apply(&nodes[i])
	}
	return nodes
}

// Node implements View.
func (o *overlay) Node(name string) (NodeState, bool) {
	node, there := o.View.Node(name)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.apply(&node)
	return node, there
}

// apply is called with the lock held.
func (o *overlay) apply(node *NodeState) {
	says := o.known[node.Name]
	node.Engine = says.Status
	if !says.Drains || node.Draining {
		return
	}
	node.Draining, node.ByEngine = true, true
	if !says.EndsBy.IsZero() {
		node.EndsBy = says.EndsBy.Add(-drainAhead)
	}
}

// followEngine keeps the engine's news of the nodes, until ctx is done. While the engine is away, its last answer counts.
func (p *Placer) followEngine(ctx context.Context) {
	teller, ok := p.engine.(NodeTeller)
	if !ok {
		return
	}
	tick := time.NewTicker(engineNodesEvery)
	defer tick.Stop()
	var before map[string]EngineNode
	for said := ""; ; {
		known, err := teller.NodesNotReady(ctx)
		switch {
		case err == nil:
			p.view.set(known)
			p.logStatus(before, known)
			before, said = known, ""
		case ctx.Err() == nil && said != err.Error(): // an outage is logged once
			p.log.Warn("asking which nodes are not ready", "error", err)
			said = err.Error()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// logStatus logs which nodes the engine has lost sight of, and which it sees again.
func (p *Placer) logStatus(before, now map[string]EngineNode) {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if status := now[name].Status; status != "" && status != before[name].Status {
			p.log.Warn("the engine places no new sandbox on a node", "node", name, "status", status)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if before[name].Status != "" && now[name].Status == "" {
			p.log.Info("the engine uses a node again", "node", name)
		}
	}
}
