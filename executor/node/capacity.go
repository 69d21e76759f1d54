package node

import (
	"context"
	"fmt"
	"maps"
	"math"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/disk"
	"github.com/yurtrun/yurt/executor/notify"
)

// Capacity returns the resources, slots and warm sandboxes that the node has left.
func (n *Node) Capacity(context.Context) (yurt.Capacity, error) {
	c := yurt.Capacity{
		Node: n.config.Name, Since: n.begun, Draining: n.drain.isSet(), DiskFull: n.disks.Check() != nil,
		MaxSandboxes: n.config.MaxSandboxes, Templates: n.demand.List(),
	}
	promised, err := n.hostRoom()
	if err != nil {
		return c, err
	}
	promise := func(r yurt.Resources) {
		promised.CPU = max(0, promised.CPU-r.CPU)
		promised.Memory = max(0, promised.Memory-r.Memory)
	}
	for _, sl := range n.slots.List() {
		if view := sl.View(); view.State != yurt.SlotEnded {
			promise(sl.Spec.Resources)
			c.Templates[sl.Digest] = countSlot(c.Templates[sl.Digest], view)
		}
	}
	for _, s := range n.table.list() {
		if s.IsGone() {
			continue
		}
		c.Sandboxes++
		if s.slot == nil {
			promise(s.Resources())
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
	promised.CPU = math.Round(promised.CPU*1000) / 1000 // sums differ by their order
	c.Free = promised
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
	return templates && a.Draining == b.Draining && a.Free == b.Free && a.Sandboxes == b.Sandboxes
}

// diskStep is the unit to which the free space of a disk is rounded down, since it changes all the time.
const diskStep = 1 << 30

// hostRoom returns the resources of the host.
func (n *Node) hostRoom() (yurt.Resources, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return yurt.Resources{}, fmt.Errorf("reading the host's memory: %w", err)
	}
	free, err := disk.Free(n.config.StateDir)
	if err != nil {
		return yurt.Resources{}, err
	}
	return yurt.Resources{
		CPU: float64(runtime.NumCPU()), Memory: yurt.Size(info.Totalram) * yurt.Size(info.Unit),
		Disk: free / diskStep * diskStep,
	}, nil
}
