package node

import (
	"context"
	"fmt"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/admission"
	"github.com/yurtrun/yurt/executor/notify"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/executor/slots"
)

// slot is room for one sandbox at a time, which package slots keeps filled.
type slot = slots.Slot[*Handle]

// slotNode implements [slots.Node].
type slotNode struct{ *Node }

// Make implements [slots.Node].
func (n slotNode) Make(ctx context.Context, sl *slot) error {
	if err := n.drain.awaitEnd(ctx); err != nil {
		return err
	}
	if sl.Spec.For == "" { // a session that waits has its own executions wait
		if err := n.provisioner.prefetch(ctx, sl.Spec.Template); err != nil {
			return err
		}
	}
	template := sl.Spec.Template
	spec := yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: template, Resources: sl.Spec.Resources, Labels: sl.Spec.Labels, Env: template.Env}
	_, err := n.make(ctx, spec, createOptions{warm: true, slot: sl})
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

// NotifyOwner implements [slots.Node].
func (n slotNode) NotifyOwner(s *Handle, why string) {
	view := s.View(n.config.Name)
	view.State, view.Reason = yurt.SandboxDead, why
	n.deaths.tell(view)
}

// CancelWait implements [slots.Node].
func (n slotNode) CancelWait(digest string) { n.reserves.CancelLast(digest) }

// Serve implements [slots.Node].
func (n slotNode) Serve(do func()) error { return n.table.serve(do) }

// IsClosed implements [slots.Node].
func (n slotNode) IsClosed() bool { return n.table.isClosed() }

// Changed implements [slots.Node].
func (n slotNode) Changed(id string) { n.changes.Notify(id) }

// slotBook opens, lists and closes the slots of a node.
type slotBook struct{ node *Node }

// OpenSlot opens a slot: from here on the node keeps one sandbox ready in it, also after
// it was started again, until the slot is closed or ends. It returns once that is
// recorded, with the sandbox being made. Opening an open slot again changes no state.
func (b *slotBook) OpenSlot(ctx context.Context, spec yurt.SlotSpec) (yurt.Slot, error) {
	slot, err := b.openSlot(ctx, spec)
	if b.node.slots.NoteRefusal(spec.ID, err) {
		b.node.changes.Notify(spec.ID)
	}
	return slot, err
}

func (b *slotBook) openSlot(ctx context.Context, spec yurt.SlotSpec) (_ yurt.Slot, err error) {
	defer b.node.disks.Explain(&err)
	if err := b.admitSlot(spec); err != nil {
		return yurt.Slot{}, err
	}
	if err := ctx.Err(); err != nil {
		return yurt.Slot{}, err
	}
	return b.node.slots.Open(spec, func(open int) error {
		switch {
		case b.node.drain.isSet():
			return errDraining()
		case open >= b.node.config.MaxSandboxes:
			return admission.Overloaded(retrySandboxes, "this node has %d slots, as many as it may; try again when some have ended", open)
		}
		return nil
	})
}

// admitSlot refuses slots in which this node could make no sandbox.
func (b *slotBook) admitSlot(spec yurt.SlotSpec) error {
	if err := spec.Validate(); err != nil {
		return err
	}
	probe := yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: spec.Template, Resources: spec.Resources}
	if err := b.node.admitter.admit(probe); err != nil {
		return err
	}
	if image := spec.Template.RootFS.Image; image != "" {
		return b.node.images.Check(image) // it is pulled for the sandbox
	}
	return b.node.roots.check(spec.Template)
}

// CloseSlot ends a slot and destroys its sandbox, also a claimed one. It
// returns when the slot is forgotten. A slot that is not known is no error.
func (b *slotBook) CloseSlot(ctx context.Context, id string) error {
	return b.node.slots.Close(ctx, id)
}

// WaitSlot returns once the slot has ended, with the reason.
func (b *slotBook) WaitSlot(ctx context.Context, id string) (yurt.Slot, error) {
	return b.node.slots.Wait(ctx, id)
}

// Slots lists every slot of this node by its id, those that have ended and were not
// closed yet included.
func (b *slotBook) Slots(context.Context) ([]yurt.Slot, error) {
	list := b.node.slots.List()
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
func (b *slotBook) WatchSlots(ctx context.Context, id string, each func([]yurt.Slot) error) error {
	return b.node.watchNode(ctx, id, func() error {
		if id != notify.Any {
			return each(b.viewOf(id))
		}
		list, err := b.Slots(ctx)
		if err != nil {
			return err
		}
		return each(list)
	})
}

// viewOf returns the view of one slot, and an empty list if the node has no slot of that id.
func (b *slotBook) viewOf(id string) []yurt.Slot {
	sl := b.node.slots.Get(id)
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
		if err := n.pause(ctx, watchPause); err != nil { // changes meanwhile are told at once
			return err
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return ctx.Err()
		case <-n.table.ctx.Done():
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
	case <-n.table.ctx.Done():
		return sandbox.ErrShuttingDown()
	}
}

// RetireSlots ends up to so many slots of the template with the digest that belong to no session
// and whose sandbox no session has claimed, and returns their ids. A claim gets a sandbox or the
// slot is ended, never both. Slots that a session has, or waits for, are left alone.
func (b *slotBook) RetireSlots(ctx context.Context, digest string, most int) ([]string, error) {
	var ids []string
	for len(ids) < most && ctx.Err() == nil {
		s := b.node.reserves.Take(digest, func(s *Handle) bool { return s.slot != nil && s.slot.Spec.For == "" })
		if s == nil {
			break
		}
		sl := s.slot
		b.node.slots.End(sl, "it was not needed any more", false)
		ids = append(ids, sl.Spec.ID)
		if err := b.node.DestroySandbox(context.WithoutCancel(ctx), s.ID()); err != nil {
			return ids, yurt.Errorf(yurt.CodeInternal, "ending slot %s: %w", sl.Spec.ID, err)
		}
	}
	if err := ctx.Err(); err != nil {
		return ids, fmt.Errorf("ending slots that are not needed: %w", err)
	}
	return ids, nil
}
