package node

import (
	"context"
	"slices"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/demand"
	"github.com/yurtrun/yurt/executor/reserve"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// awaitNext hands out the next sandbox of the template that becomes ready in a slot without a session of its own. It fails at once
// unless a slot makes a sandbox that no caller waits for yet: each waiting caller has one sandbox coming, which is made before the
// others. When the slot fails, the wait of one caller is cancelled.
func (c *claims) awaitNext(ctx context.Context, spec yurt.SandboxSpec) (yurt.Sandbox, error) {
	phases := sandbox.NewPhases(ctx)
	if err := c.admitClaim(ctx, spec); err != nil {
		return yurt.Sandbox{}, err
	}
	digest := spec.Template.Digest()
	list := c.node.slots.List() // not with the reserve locked, as the node is when it puts something in
	s, in := c.node.reserves.TakeOrWait(digest, func(s *Handle) bool { return s.admits(spec) == nil && s.growth(spec) == 0 }, func() bool {
		return hurry(list, digest, spec)
	})
	if in != nil {
		var err error
		if s, err = c.wait(ctx, in); err != nil {
			return yurt.Sandbox{}, err
		}
	}
	if s == nil {
		c.node.demand.Add(digest, spec.Template.Name, demand.Refused)
		return yurt.Sandbox{}, yurt.Errorf(yurt.CodeNotFound, "no sandbox of that template is about to be ready here")
	}
	if err := c.admitClaim(ctx, spec); err != nil { // the node may drain by now
		c.node.reserves.PutBack(s)
		c.node.changes.Notify(s.slotID())
		return yurt.Sandbox{}, err
	}
	c.node.demand.Add(digest, spec.Template.Name, demand.Claimed)
	return c.handOver(ctx, s, spec, phases)
}

// wait returns the sandbox that the waiter is given; nil if its wait is cancelled.
func (c *claims) wait(ctx context.Context, in *reserve.Waiter[*Handle]) (*Handle, error) {
	var err error
	select {
	case s := <-in.Item():
		return s, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-c.node.table.ctx.Done():
		err = sandbox.ErrShuttingDown()
	}
	if s := c.node.reserves.Leave(in); s != nil {
		return s, nil
	}
	return nil, err
}

// hurry has one slot make its next sandbox now, if there is a slot whose next sandbox no caller waits for.
func hurry(list []*slot, digest string, spec yurt.SandboxSpec) bool {
	return slices.ContainsFunc(list, func(sl *slot) bool {
		return sl.Digest == digest && sl.Spec.For == "" && sl.Admits(spec) == nil && sl.BeHurried()
	})
}
