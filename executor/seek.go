package executor

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/reserve"
	"github.com/yurtrun/yurt/executor/tally"
)

// awaitNext hands out the next sandbox of the template that becomes ready in a slot of
// anybody's. It fails at once unless one is made that nobody waits for yet: so each who
// waits has one coming, which is made before what nobody waits for.
func (e *Executor) awaitNext(ctx context.Context, spec yurt.SandboxSpec) (yurt.Sandbox, error) {
	phases := newPhases()
	if err := e.admitClaim(ctx, spec); err != nil {
		return yurt.Sandbox{}, err
	}
	digest := spec.Template.Digest()
	s, in := e.reserves.Seek(digest, func(s *sandbox) bool { return s.admits(spec) == nil })
	if in != nil {
		var err error
		if s, err = e.inLine(ctx, in, spec); err != nil {
			return yurt.Sandbox{}, err
		}
	}
	if err := e.admitClaim(ctx, spec); err != nil { // the node may drain by now
		e.reserves.PutBack(s)
		e.bells.Ring(s.slotID())
		return yurt.Sandbox{}, err
	}
	e.tally.Add(digest, spec.Template.Name, tally.Claimed)
	return e.handOver(ctx, s, spec, phases)
}

// inLine waits until the seeker is given a sandbox.
func (e *Executor) inLine(ctx context.Context, in *reserve.Seeker[*sandbox], spec yurt.SandboxSpec) (*sandbox, error) {
	err := e.hurry(spec.Template.Digest(), spec)
	if err == nil {
		select {
		case s := <-in.Given():
			return s, nil
		case <-ctx.Done():
			err = ctx.Err()
		case <-e.ctx.Done():
			err = errShuttingDown()
		}
	}
	if s := e.reserves.Leave(in); s != nil {
		return s, nil
	}
	return nil, err
}

// hurry has a slot that makes a sandbox for nobody yet make it now.
func (e *Executor) hurry(digest string, spec yurt.SandboxSpec) error {
	for _, sl := range e.slots.List() {
		if sl.Digest == digest && sl.Spec.For == "" && sl.Admits(spec) == nil && sl.BeHurried() {
			return nil
		}
	}
	e.tally.Add(digest, spec.Template.Name, tally.Refused)
	return yurt.Errorf(yurt.CodeNotFound, "no sandbox of that template is about to be ready here")
}
