package node

import (
	"context"
	"maps"
	"math"
	"runtime"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/disk"
	"github.com/yurtrun/yurt/executor/figures"
	"github.com/yurtrun/yurt/executor/notify"
)

// Capacity returns the resources, slots and warm sandboxes that the node has left.
func (n *Node) Capacity(context.Context) (yurt.Capacity, error) {
	c := yurt.Capacity{
		Node: n.config.Name, Since: n.begun, Draining: n.drain.isSet(), DiskFull: n.disks.Check() != nil,
		MaxSandboxes: n.config.MaxSandboxes, Templates: n.demand.List(),
	}
	room, err := n.hostRoom()
	if err != nil {
		return c, err
	}
	promised := n.promised()
	c.Memory = yurt.MemoryPromise{Limit: n.config.All.Memory, Promised: promised.Memory, Promisable: n.config.All.Promisable()}
	room.CPU = max(0, room.CPU-promised.CPU)
	room.Memory = max(0, room.Memory-promised.Memory)
	for _, sl := range n.slots.List() {
		if view := sl.View(); view.State != yurt.SlotEnded {
			c.Templates[sl.Digest] = countSlot(c.Templates[sl.Digest], view)
		}
	}
	for _, s := range n.table.list() {
		if !s.IsGone() {
			c.Sandboxes++
		}
	}
	for _, s := range n.reserves.List() {
		if s.slot == nil {
			of := c.Templates[s.Digest()]
			of.Template = s.Template
			of.Warm++
			c.Templates[s.Digest()] = of
		}
	}
	room.CPU = math.Round(room.CPU*1000) / 1000 // sums differ by their order
	c.Free = room
	return c, nil
}

// countSlot adds an open slot to the counts of its template.
func countSlot(of yurt.TemplateCapacity, view yurt.Slot) yurt.TemplateCapacity {
	of.Template = view.Template
	of.Slots++
	if view.State == yurt.SlotClaimed {
		of.Claimed++
	}
	switch {
	case view.For != "":
		of.Own++
	case view.State == yurt.SlotMaking:
		of.Making++
	case view.State == yurt.SlotReady:
		of.Warm++
	}
	return of
}

// WatchCapacity calls each with the node's capacity, at once and again when it has changed, until ctx is done or each returns an
// error.
func (n *Node) WatchCapacity(ctx context.Context, each func(yurt.Capacity) error) error {
	var told *yurt.Capacity
	return n.watchNode(ctx, notify.Any, func() error {
		now, err := n.Capacity(ctx)
		if err != nil || told != nil && sameCapacity(*told, now) {
			return err
		}
		told = &now
		return each(now)
	})
}

func sameCapacity(a, b yurt.Capacity) bool {
	templates := maps.Equal(a.Templates, b.Templates)
	return templates && a.Draining == b.Draining && a.Free == b.Free && a.Memory == b.Memory && a.Sandboxes == b.Sandboxes
}

// diskStep is the unit to which the free space of a disk is rounded down, since it changes all the time.
const diskStep = 1 << 30

// hostRoom returns the resources that the host has for sandboxes.
func (n *Node) hostRoom() (yurt.Resources, error) {
	free, err := disk.Free(n.config.StateDir)
	if err != nil {
		return yurt.Resources{}, err
	}
	return yurt.Resources{
		CPU: float64(runtime.NumCPU()), Memory: n.config.All.Memory,
		Disk: free / diskStep * diskStep,
	}, nil
}

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
