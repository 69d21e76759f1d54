package node

import (
	"context"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/admission"
	"github.com/yurtrun/yurt/executor/notify"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/executor/slots"
)

// slot is room for one sandbox at a time, which package slots keeps filled.
type slot = slots.Slot[*Handle]

// slotNode is what slots need of the executor.
type slotNode struct{ *Node }

// Make implements [slots.Node].
func (n slotNode) Make(ctx context.Context, sl *slot) error {
	if err := n.awaitUndrained(ctx); err != nil {
		return err
	}
	if sl.Spec.For == "" { // a session that waits has its own executions wait
		if err := n.installAhead(ctx, sl.Spec.Template); err != nil {
			return err
		}
	}
	spec := yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: sl.Spec.Template, Resources: sl.Spec.Resources, Labels: sl.Spec.Labels}
	_, err := n.make(ctx, spec, purpose{warm: true, slot: sl})
	return err
}

// Await implements [slots.Node].
func (n slotNode) Await(ctx context.Context, s *Handle) (why string, err error) {
	select {
	case <-s.Gone:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	n.reserves.Drop(s) // from here on it is taken, or never will be
	if s.IsTaken() {
		return "", nil
	}
	return s.View("").Reason, nil
}

// Destroy implements [slots.Node].
func (n slotNode) Destroy(ctx context.Context, s *Handle) error { return n.DestroySandbox(ctx, s.ID()) }

// Bereave implements [slots.Node].
func (n slotNode) Bereave(s *Handle, why string) {
	view := s.View(n.config.Name)
	view.State, view.Reason = yurt.SandboxDead, why
	n.tellDeath(view)
}

// LetDown implements [slots.Node].
func (n slotNode) LetDown(digest string) { n.reserves.TurnAway(digest) }

// Serve implements [slots.Node].
func (n slotNode) Serve(do func()) error { return n.serve(do) }

// IsClosed implements [slots.Node].
func (n slotNode) IsClosed() bool { return n.isClosed() }

// Changed implements [slots.Node].
func (n slotNode) Changed(id string) { n.changes.Notify(id) }

// OpenSlot opens a slot: from here on the node keeps one sandbox ready in it, also after
// it was started again, until the slot is closed or ends. It returns once that is
// recorded, with the sandbox being made. Opening what is open already changes nothing.
func (n *Node) OpenSlot(ctx context.Context, spec yurt.SlotSpec) (yurt.Slot, error) {
	slot, err := n.openSlot(ctx, spec)
	if n.slots.NoteRefusal(spec.ID, err) {
		n.changes.Notify(spec.ID)
	}
	return slot, err
}

func (n *Node) openSlot(ctx context.Context, spec yurt.SlotSpec) (_ yurt.Slot, err error) {
	defer n.disks.Explain(&err)
	if err := n.admitSlot(spec); err != nil {
		return yurt.Slot{}, err
	}
	if err := ctx.Err(); err != nil {
		return yurt.Slot{}, err
	}
	return n.slots.Open(spec, func(open int) error {
		switch {
		case n.draining.Load():
			return errDraining()
		case open >= n.config.MaxSandboxes:
			return admission.Overloaded(retrySandboxes, "this node has %d slots, as many as it may; try again when some have ended", open)
		}
		return nil
	})
}

// admitSlot refuses slots in which this node could make no sandbox.
func (n *Node) admitSlot(spec yurt.SlotSpec) error {
	if err := spec.Validate(); err != nil {
		return err
	}
	probe := yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: spec.Template, Resources: spec.Resources}
	if err := n.admit(probe); err != nil {
		return err
	}
	if image := spec.Template.RootFS.Image; image != "" {
		return n.images.Check(image) // it is pulled for the sandbox
	}
	_, _, err := n.layout(yurt.SandboxSpec{Template: spec.Template}, nil, nil)
	return err
}

// CloseSlot ends a slot and destroys the sandbox that it has, whoever has claimed it. It
// returns when the slot is forgotten. A slot that is not known is no error.
func (n *Node) CloseSlot(ctx context.Context, id string) error { return n.slots.Close(ctx, id) }

// WaitSlot returns once the slot has ended, with the reason.
func (n *Node) WaitSlot(ctx context.Context, id string) (yurt.Slot, error) {
	return n.slots.Wait(ctx, id)
}

// Slots lists every slot of this node by its id, those that have ended and were not
// closed yet included.
func (n *Node) Slots(context.Context) ([]yurt.Slot, error) {
	list := n.slots.List()
	views := make([]yurt.Slot, len(list))
	for i, sl := range list {
		views[i] = sl.View()
	}
	return views, nil
}

// watchPause is how often watchers of the whole node are told of changes at the most.
const watchPause = 50 * time.Millisecond

// WatchSlots calls each with all slots, at once and again when something about one has
// changed, until ctx is done or each returns an error. Given the id of one, which need not
// be open yet, it tells of that alone.
func (n *Node) WatchSlots(ctx context.Context, id string, each func([]yurt.Slot) error) error {
	return n.watchNode(ctx, id, func() error {
		if id != notify.Any {
			return each(n.viewOf(id))
		}
		list, err := n.Slots(ctx)
		if err != nil {
			return err
		}
		return each(list)
	})
}

// viewOf is what the node says of one slot, and nothing if it has none of that id.
func (n *Node) viewOf(id string) []yurt.Slot {
	sl := n.slots.Get(id)
	if sl == nil {
		return nil
	}
	return []yurt.Slot{sl.View()}
}

// watchNode calls look, and again when something about the slot of that id, or anything
// on the node, has changed.
func (n *Node) watchNode(ctx context.Context, id string, look func() error) error {
	rung, leave := n.changes.Subscribe(id)
	defer leave()
	for {
		if err := look(); err != nil {
			return err
		}
		if err := n.pause(ctx, watchPause); err != nil { // what changes meanwhile is told in one
			return err
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return ctx.Err()
		case <-n.ctx.Done():
			return sandbox.ErrShuttingDown()
		}
	}
}

// pause waits, unless ctx or the executor ends.
func (n *Node) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-n.ctx.Done():
		return sandbox.ErrShuttingDown()
	}
}
