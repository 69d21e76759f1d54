package node

import "github.com/yurtrun/yurt/executor/figures"

// Figures counts the events on this node.
func (p *provisioner) Figures() *figures.Figures { return p.node.figures }

// Load returns the work of the node and its bounds.
func (d *dispatcher) Load() figures.Load {
	n := d.node
	n.table.mu.Lock()
	defer n.table.mu.Unlock()
	return figures.Load{
		Waiting: max(0, n.table.waiting()), MaxWaiting: n.config.MaxQueue, Making: len(n.table.making),
		Executions: int(n.executions.Load()), MaxExecutions: n.config.MaxExecutions,
	}
}
