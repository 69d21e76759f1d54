package node

import (
	"context"
	"slices"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/demand"
	"github.com/yurtrun/yurt/executor/reserve"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// awaitNext hands out the next sandbox of the template that becomes ready in a slot of
// anybody's. It fails at once unless one is made that nobody waits for yet: so each who
// waits has one coming, which is made before what nobody waits for. When a slot fails in that,
// one who waits is told that none is coming.
func (c *claims) awaitNext(ctx context.Context, spec yurt.SandboxSpec) (yurt.Sandbox, error) {
	phases := sandbox.NewPhases()
	if err := c.admitClaim(ctx, spec); err != nil {
		return yurt.Sandbox{}, err
	}
	digest := spec.Template.Digest()
	list := c.node.slots.List() // not with the reserve locked, as the node is when it puts something in
	s, in := c.node.reserves.Seek(digest, func(s *Handle) bool { return s.admits(spec) == nil }, func() bool { return hurry(list, digest, spec) })
	if in != nil {
		var err error
		if s, err = c.inLine(ctx, in); err != nil {
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

// inLine waits until the seeker is given a sandbox; nil if it is turned away.
func (c *claims) inLine(ctx context.Context, in *reserve.Seeker[*Handle]) (*Handle, error) {
	var err error
	select {
	case s := <-in.Given():
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

// hurry has one of the slots that makes a sandbox for nobody yet make it now, if there is one.
func hurry(list []*slot, digest string, spec yurt.SandboxSpec) bool {
	return slices.ContainsFunc(list, func(sl *slot) bool {
		return sl.Digest == digest && sl.Spec.For == "" && sl.Admits(spec) == nil && sl.BeHurried()
	})
}
