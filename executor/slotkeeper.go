package executor

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/yurtrun/yurt"
)

const (
	// refillPause keeps a slot's next sandbox out of the way of what its last one was
	// for: a session that ends is often followed by another, with its first command.
	refillPause = 50 * time.Millisecond
	// slotFailures is how many times in a row no sandbox could be made, or it died before
	// anybody had it, until the slot is given up.
	slotFailures = 8
	// Between two failures it waits, from least to most and half of that more or less.
	failureLeast = 100 * time.Millisecond
	failureMost  = 5 * time.Second
)

// keepSlot makes the sandboxes of a slot until it ends, is closed, or the executor is,
// which leaves its sandbox to the next one.
func (e *Executor) keepSlot(sl *slot) {
	defer close(sl.kept)
	left := func() bool { return sl.ctx.Err() != nil || e.isClosed() }
	for failures := 0; !left() && !sl.isOver(); {
		why := e.hold(sl)
		if why == "" {
			failures = 0
			e.rest(sl) // the loop looks whether it ended
			continue
		}
		if left() {
			return // which is no failure, and must not end the slot
		}
		sl.clear(why)
		e.bells.Ring(sl.spec.ID)
		if failures++; failures >= slotFailures {
			e.endSlot(sl, why, true)
			return
		}
		e.logger.Warn("slot has no sandbox", "slot", sl.spec.ID, "failures", failures, "reason", why)
		_ = e.pause(sl.ctx, backoff(failures))
	}
}

// rest leaves the node alone for a moment, unless somebody waits for the slot's next sandbox.
func (e *Executor) rest(sl *slot) {
	timer := time.NewTimer(refillPause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-sl.hurrying():
	case <-sl.ctx.Done():
	}
}

// backoff is how long to wait after so many failures in a row.
func backoff(failures int) time.Duration {
	d := min(failureMost, failureLeast<<min(failures-1, 10))
	return d/2 + rand.N(d) //nolint:gosec // it is to differ, and not to be secret
}

// hold makes a sandbox for the slot, unless it has one, and returns when that is not
// there any more: "" when somebody had it, else why nobody can.
func (e *Executor) hold(sl *slot) (why string) {
	s := sl.current()
	if s == nil {
		var err error
		if s, err = e.makeFor(sl); err != nil {
			return err.Error()
		}
	}
	select {
	case <-s.gone:
	case <-sl.ctx.Done():
		return sl.ctx.Err().Error()
	}
	e.reserves.Drop(s) // from here on it is taken, or never will be
	if s.IsTaken() {
		sl.clear("")
		e.bells.Ring(sl.spec.ID)
		return ""
	}
	why = s.view("").Reason
	if err := e.DestroySandbox(sl.ctx, s.id); err != nil {
		e.logger.Error("removing a sandbox that died in its slot", "slot", sl.spec.ID, "sandbox", s.id, "error", err)
	}
	return "its sandbox died before anybody had it: " + why
}

// makeFor makes a sandbox for the slot, when the node takes something new.
func (e *Executor) makeFor(sl *slot) (*sandbox, error) {
	if err := e.awaitUndrained(sl.ctx); err != nil {
		return nil, err
	}
	if sl.spec.For == "" { // a session that waits has its own executions wait
		if err := e.installAhead(sl.ctx, sl.spec.Template); err != nil {
			return nil, err
		}
	}
	spec := yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: sl.spec.Template, Resources: sl.spec.Resources, Labels: sl.spec.Labels}
	if _, err := e.make(sl.ctx, spec, purpose{warm: true, slot: sl}); err != nil {
		return nil, err
	}
	return sl.current(), nil
}

// endSlot ends a slot: there will be no further sandbox in it. That is on disk before
// anybody is told.
func (e *Executor) endSlot(sl *slot, why string, failed bool) {
	sl.mu.Lock()
	if !sl.ended.IsZero() {
		sl.mu.Unlock()
		return
	}
	sl.ended, sl.reason, sl.failed, sl.sandbox = time.Now(), why, failed, nil
	close(sl.over)
	sl.mu.Unlock()
	if err := e.slots.write(sl); err != nil { // a next executor would fill it again
		e.logger.Error("recording that a slot ended", "slot", sl.spec.ID, "error", err)
	}
	e.logger.Info("slot ended", "slot", sl.spec.ID, "reason", why)
	e.bells.Ring(sl.spec.ID)
}

// shut closes a slot: no next executor knows it, nothing more is made in it, and its
// sandbox is destroyed. Whose that was is told.
func (e *Executor) shut(sl *slot) {
	defer close(sl.closed)
	e.forgetSlot(sl)
	sl.stop()
	<-sl.kept
	if s := sl.current(); s != nil {
		if err := e.DestroySandbox(context.WithoutCancel(e.ctx), s.id); err != nil {
			e.logger.Error("destroying the sandbox of a slot", "slot", sl.spec.ID, "sandbox", s.id, "error", err)
		}
		if s.IsTaken() {
			view := s.view(e.config.Node)
			view.State, view.Reason = yurt.SandboxDead, sl.whyClosed()
			e.tellDeath(view)
		}
	}
	e.forgetSlot(sl) // it may have ended with its sandbox, which was recorded
	e.slots.mu.Lock()
	delete(e.slots.byID, sl.spec.ID)
	e.slots.mu.Unlock()
	e.closeView(sl)
}

// whyClosed is what the session is told whose sandbox was in the slot.
func (sl *slot) whyClosed() string {
	if sl.spec.Labels[yurt.LabelNomadJob] == "" {
		return "its slot was closed"
	}
	return "its slot was closed: Nomad stopped its task, as for a drain, or all on the node was destroyed"
}

// closeView has those who wait for the slot hear that it is closed.
func (e *Executor) closeView(sl *slot) {
	sl.mu.Lock()
	if sl.ended.IsZero() {
		sl.ended, sl.reason, sl.sandbox = time.Now(), "it was closed", nil
		close(sl.over)
	}
	sl.mu.Unlock()
	e.bells.Ring(sl.spec.ID)
}

func (e *Executor) forgetSlot(sl *slot) {
	if err := e.slots.remove(sl.spec.ID); err != nil {
		e.logger.Error("forgetting a slot", "slot", sl.spec.ID, "error", err)
	}
}
