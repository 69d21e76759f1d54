package slots

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/yurtrun/yurt"
)

const (
	// refillPause delays a slot's next sandbox: after a session ends, its user often starts another one, whose first command
	// comes first.
	refillPause = 50 * time.Millisecond
	// maxFailures is how many sandboxes in a row may fail, in the making or before a claim, until the slot is given up.
	maxFailures = 8
	// Between two failures it waits, from least to most and half of that more or less.
	failureLeast = 100 * time.Millisecond
	failureMost  = 5 * time.Second
)

// keep makes the sandboxes of a slot until it ends, is closed, or the node is,
// which leaves its sandbox to the next one.
func (l *Set[S]) keep(sl *Slot[S]) {
	defer close(sl.kept)
	left := func() bool { return sl.ctx.Err() != nil || l.node.IsClosed() }
	for failures := 0; !left() && !sl.IsOver(); {
		why := l.hold(sl)
		if why == "" {
			failures = 0
			sl.rest(refillPause, sl.Hurrying()) // the loop looks whether it ended
			continue
		}
		if left() {
			return // which is no failure, and must not end the slot
		}
		sl.clear(why)
		l.cancelWait(sl)
		l.node.Changed(sl.Spec.ID)
		if failures++; failures >= maxFailures {
			l.End(sl, why, true)
			return
		}
		l.logger.Warn("slot has no sandbox", "slot", sl.Spec.ID, "failures", failures, "reason", why)
		sl.rest(backoff(failures), nil)
	}
}

// cancelWait tells a caller that waits for the slot's next sandbox that it will not come soon. No caller is sent to wait for it again
// until it exists.
func (l *Set[S]) cancelWait(sl *Slot[S]) {
	sl.mu.Lock()
	waited := sl.calm()
	sl.mu.Unlock()
	if waited {
		l.node.CancelWait(sl.Digest)
	}
}

// rest leaves the node alone for so long, unless it is hurried.
func (sl *Slot[S]) rest(d time.Duration, hurried <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-hurried:
	case <-sl.ctx.Done():
	}
}

// backoff is how long to wait after so many failures in a row.
func backoff(failures int) time.Duration {
	d := min(failureMost, failureLeast<<min(failures-1, 10))
	return d/2 + rand.N(d) //nolint:gosec // it is to differ, and not to be secret
}

// hold makes a sandbox for the slot, unless it has one, and returns when that sandbox is gone: "" when a session had claimed it,
// otherwise the reason why no session can.
func (l *Set[S]) hold(sl *Slot[S]) (why string) {
	var none S
	if sl.Current() == none {
		if err := l.node.Make(sl.ctx, sl); err != nil {
			return err.Error()
		}
	}
	s := sl.Current()
	if s == none {
		return "" // a session had it at once, and with its end the slot's has come
	}
	why, err := l.node.Await(sl.ctx, s)
	if err != nil {
		return err.Error()
	}
	if s.IsTaken() {
		sl.clear("")
		l.node.Changed(sl.Spec.ID)
		return ""
	}
	if err := l.node.Destroy(sl.ctx, s); err != nil {
		l.logger.Error("removing a sandbox that died in its slot", "slot", sl.Spec.ID, "sandbox", s.ID(), "error", err)
	}
	return "its sandbox died before anybody had it: " + why
}

// End ends a slot: it gets no further sandbox. That is on disk before any caller learns of it.
func (l *Set[S]) End(sl *Slot[S], why string, failed bool) {
	if !l.recordEnd(sl, why, failed) {
		return
	}
	l.cancelWait(sl)
	l.logger.Info("slot ended", "slot", sl.Spec.ID, "reason", why)
	l.node.Changed(sl.Spec.ID)
}

// recordEnd reports whether the slot had not ended yet.
func (l *Set[S]) recordEnd(sl *Slot[S], why string, failed bool) bool {
	var none S
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if !sl.ended.IsZero() {
		return false
	}
	sl.ended, sl.reason, sl.failed, sl.sandbox = time.Now(), why, failed, none
	if err := l.room.Spend(func() error { return l.write(sl) }); err != nil { // a next executor would fill it again
		l.logger.Error("recording that a slot ended", "slot", sl.Spec.ID, "error", err)
	}
	close(sl.over)
	return true
}

// shut closes a slot: its record goes, its keeper stops, and its sandbox is destroyed. The owner of the sandbox is told.
func (l *Set[S]) shut(sl *Slot[S]) {
	defer close(sl.closed)
	l.forget(sl)
	sl.stop()
	l.cancelWait(sl)
	<-sl.kept
	var none S
	if s := sl.Current(); s != none {
		if err := l.node.Destroy(context.WithoutCancel(sl.ctx), s); err != nil {
			l.logger.Error("destroying the sandbox of a slot", "slot", sl.Spec.ID, "sandbox", s.ID(), "error", err)
		}
		if s.IsTaken() {
			l.node.NotifyOwner(s, sl.whyClosed())
		}
	}
	l.forget(sl) // it may have ended with its sandbox, which was recorded
	l.mu.Lock()
	delete(l.byID, sl.Spec.ID)
	l.mu.Unlock()
	l.closeView(sl)
}

// whyClosed is the reason that a session gets when its slot is closed.
func (sl *Slot[S]) whyClosed() string {
	if sl.Spec.Labels[yurt.LabelNomadJob] == "" {
		return "its slot was closed"
	}
	return "its slot was closed: Nomad stopped its task, as for a drain, or all on the node was destroyed"
}

// closeView tells the callers that wait for the slot that it is closed.
func (l *Set[S]) closeView(sl *Slot[S]) {
	var none S
	sl.mu.Lock()
	if sl.ended.IsZero() {
		sl.ended, sl.reason, sl.sandbox = time.Now(), "it was closed", none
		close(sl.over)
	}
	sl.mu.Unlock()
	l.node.Changed(sl.Spec.ID)
}

func (l *Set[S]) forget(sl *Slot[S]) {
	if err := l.remove(sl.Spec.ID); err != nil {
		l.logger.Error("forgetting a slot", "slot", sl.Spec.ID, "error", err)
	}
}
