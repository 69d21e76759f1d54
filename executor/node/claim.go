package node

import (
	"context"
	"fmt"
	"maps"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/demand"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/executor/statedir"
)

// claims hands out sandboxes that are ready.
type claims struct{ node *Node }

// ClaimSandbox hands out a sandbox that is ready: with the environment, the labels, the limits and the files of the
// spec, and an ID of its own. found is false if the reserve has no sandbox of that very template that has room for
// these limits and that the owner may have. A sandbox is handed out once, even if this process or the claim fails: a
// failed claim destroys it.
func (c *claims) ClaimSandbox(ctx context.Context, spec yurt.SandboxSpec) (_ yurt.Sandbox, found bool, err error) {
	phases := sandbox.NewPhases(ctx)
	if err := c.admitClaim(ctx, spec); err != nil {
		return yurt.Sandbox{}, false, err
	}
	digest := spec.Template.Digest()
	s := c.node.takeReady(spec)
	if s == nil {
		c.node.demand.Add(digest, spec.Template.Name, demand.Refused)
		return yurt.Sandbox{}, false, nil
	}
	c.node.demand.Add(digest, spec.Template.Name, demand.Claimed)
	sandbox, err := c.handOver(ctx, s, spec, phases)
	return sandbox, err == nil, err
}

// AwaitSandbox hands out the sandbox of one slot, as [Node.ClaimSandbox] does, once it
// is ready. The slot need not be open yet. "" is the slot without a session of its own that has the next sandbox of the template; it is an
// error at once if each coming sandbox has a caller that waits. A slot that was refused or has ended, or whose sandbox another
// session has, is an error too. A session that asks again for the sandbox of its own slot gets the same one, since its first answer may
// have been lost.
func (c *claims) AwaitSandbox(ctx context.Context, spec yurt.SandboxSpec, slotID string) (yurt.Sandbox, error) {
	if slotID == "" {
		return c.awaitNext(ctx, spec)
	}
	phases := sandbox.NewPhases(ctx)
	if !yurt.ValidSlotID(slotID) {
		return yurt.Sandbox{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, "slot", "%q is not the id of a slot", slotID)
	}
	rung, leave := c.node.changes.Subscribe(slotID)
	defer leave()
	for {
		if err := c.admitClaim(ctx, spec); err != nil {
			return yurt.Sandbox{}, err
		}
		s, err := c.takeFrom(slotID, spec)
		if err != nil {
			return yurt.Sandbox{}, err
		}
		if s != nil && s.isOf(spec) {
			if s, err = c.node.Find(ctx, s.ID()); err != nil {
				return yurt.Sandbox{}, err
			}
			// It has the files, unless the executor that was to write them ended before.
			if err := s.WriteInitialFiles(spec.Files, phases); err != nil {
				return yurt.Sandbox{}, err
			}
			return s.View(c.node.config.Name), nil
		}
		if s != nil {
			if spec.Warmable() { // else no warm one would have spared it
				c.node.demand.Add(s.Digest(), s.Template, demand.Cold)
			}
			return c.handOver(ctx, s, spec, phases)
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return yurt.Sandbox{}, ctx.Err()
		case <-c.node.table.ctx.Done():
			return yurt.Sandbox{}, sandbox.ErrShuttingDown()
		}
	}
}

// takeFrom takes the sandbox of the slot; nil if it is not there yet. It may be the
// caller's already.
func (c *claims) takeFrom(slotID string, spec yurt.SandboxSpec) (*Handle, error) {
	sl := c.node.slots.Get(slotID)
	if sl == nil {
		return nil, c.node.slots.Refusal(slotID)
	}
	if spec.Template.Digest() != sl.Digest {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "template", "slot %s is of another template, or another version of it", slotID)
	}
	if err := sl.Admits(spec); err != nil {
		return nil, err
	}
	if s := c.node.reserves.Take(sl.Digest, func(s *Handle) bool { return s.slot == sl }); s != nil {
		return s, nil
	}
	switch now := sl.View(); now.State {
	case yurt.SlotEnded:
		return nil, yurt.Errorf(yurt.CodeSandboxFailed, "slot %s has ended: %s", slotID, now.Reason)
	case yurt.SlotClaimed:
		if s := sl.Current(); sl.Spec.For != "" && s != nil && s.isOf(spec) {
			return s, nil
		}
		return nil, yurt.FieldErrorf(yurt.CodeUnavailable, "slot", "the sandbox of slot %s is claimed already", slotID)
	default:
		return nil, nil //nolint:nilnil // it is being made
	}
}

// isOf reports whether an equal claim has got the sandbox.
func (s *Handle) isOf(spec yurt.SandboxSpec) bool {
	s.Lock()
	defer s.Unlock()
	had := s.Record.Spec
	return !s.Record.Warm && had.Resources == spec.Resources && maps.Equal(had.Env, spec.Env) &&
		maps.Equal(had.Labels, yurt.LabelsIn(s.slot.Spec.Labels, spec.Labels))
}

// admitClaim refuses claims that no sandbox of this node could meet, or that the node must not meet now.
func (c *claims) admitClaim(ctx context.Context, spec yurt.SandboxSpec) error {
	if err := c.node.admitter.admitBound(spec); err != nil {
		return err
	}
	if spec.Host != nil {
		return yurt.FieldErrorf(yurt.CodeNotSupported, "host", "a sandbox that is ready has no mount and no device of the host; have one made")
	}
	if c.node.drain.isSet() {
		return errDraining()
	}
	if err := c.node.disks.Check(); err != nil {
		return err
	}
	return ctx.Err()
}

// admits returns the reason why a sandbox without an owner cannot become the one of the specification, or nil.
func (s *Handle) admits(spec yurt.SandboxSpec) error {
	if !spec.Rebindable(s.Record.Spec.Resources) {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources", "these limits cannot be given to a sandbox that is ready; have one made")
	}
	if s.slot == nil {
		return nil
	}
	return s.slot.Admits(spec)
}

// handOver gives a sandbox that was taken to its owner.
func (c *claims) handOver(ctx context.Context, s *Handle, spec yurt.SandboxSpec, phases *sandbox.Phases) (_ yurt.Sandbox, err error) {
	defer c.node.disks.Explain(&err)
	defer c.node.processors.Hold()()
	c.node.changes.Notify(s.slotID())
	phases.Mark("take")
	had := s.Record.Spec.Env
	if err = s.bind(spec, phases); err == nil {
		err = s.WriteInitialFiles(spec.Files, phases)
	}
	if err != nil {
		if !sandbox.IsAboutFiles(err) {
			err = yurt.Errorf(yurt.CodeSandboxFailed, "claiming sandbox %s: %w", s.ID(), err)
		}
		if gone := c.node.DestroySandbox(context.WithoutCancel(ctx), s.ID()); gone != nil {
			err = fmt.Errorf("%w; and destroying it: %w", err, gone)
		}
		return yurt.Sandbox{}, err
	}
	if brings(spec.Env, had) {
		c.node.kernels.RemoveKernels(s.Sandbox)
	}
	return s.View(c.node.config.Name), nil
}

// brings reports whether the environment has anything that the other lacks.
func brings(env, other map[string]string) bool {
	for name, value := range env {
		if had, ok := other[name]; !ok || had != value {
			return true
		}
	}
	return false
}

// bind gives a sandbox of the reserve the limits, labels and environment of its owner. The claim is on disk before the caller is
// told, so that no next executor hands the sandbox out again.
func (s *Handle) bind(spec yurt.SandboxSpec, phases *sandbox.Phases) error {
	if had, wanted := s.Record.Spec.Limits(), spec.Limits(); had != wanted {
		if err := s.Broker.Resize(s.ID(), had, wanted); err != nil {
			return err
		}
	}
	phases.Mark("limits")
	record := s.Record
	record.Spec, record.Warm = spec, false
	record.Spec.ID, record.Spec.Files = s.ID(), nil // the workspace has them
	if s.slot != nil {
		record.Spec.Labels = yurt.LabelsIn(s.slot.Spec.Labels, spec.Labels)
	}
	record.Phases = phases.Done()
	if err := records.Write(s.Path(statedir.Record), record); err != nil {
		return err
	}
	phases.Mark("record")
	record.Phases = phases.Done()
	s.Lock()
	defer s.Unlock()
	s.Record = record
	return nil
}

// ReserveSandbox makes a sandbox of the template that has no owner yet, with the limits
// that the template gives. The next [Node.ClaimSandbox] gets it, once.
func (n *Node) ReserveSandbox(ctx context.Context, template yurt.Template) (yurt.Sandbox, error) {
	if err := n.provisioner.prefetch(ctx, template); err != nil {
		return yurt.Sandbox{}, err
	}
	spec := yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: template, Resources: template.Resources.Or(yurt.DefaultResources()), Env: template.Env}
	return n.make(ctx, spec, createOptions{warm: true})
}

// Reserves counts the sandboxes that [Node.ReserveSandbox] made and that can be claimed. [Node.Slots] has those in slots.
func (n *Node) Reserves(context.Context) ([]yurt.Reserve, error) {
	list := []yurt.Reserve{}
	for _, s := range n.reserves.List() {
		switch last := len(list) - 1; {
		case s.slot != nil:
		case last >= 0 && list[last].Digest == s.Digest():
			list[last].Ready++
		default:
			list = append(list, yurt.Reserve{Template: s.Template, Digest: s.Digest(), Ready: 1})
		}
	}
	return list, nil
}

// ReleaseReserve destroys one sandbox of the template with the digest that
// [Node.ReserveSandbox] made and no session has claimed, if there is any.
func (n *Node) ReleaseReserve(ctx context.Context, digest string) error {
	s := n.reserves.Take(digest, func(s *Handle) bool { return s.slot == nil })
	if s == nil {
		return nil
	}
	return n.DestroySandbox(ctx, s.ID())
}
