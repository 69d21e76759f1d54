package controller

import (
	"context"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/reach"
)

const (
	sweepInterval = 30 * time.Second // between two comparisons of store and nodes
	forgetAfter   = time.Minute      // from the end of an execution, so that its stream can be replayed
	maxRemembered = 512              // ended executions that the nodes hold; beyond, the oldest go sooner
	reapBatch     = 64
	storeBackoff  = time.Second      // before a store that failed is asked again
	expiryPoll    = time.Second      // for deadlines that another controller brings forward
	suspectGrace  = 10 * time.Second // for another controller to clear up after a session
)

// reaper knows when something falls due. It is a value of a [Controller], whose
// Run does the work.
type reaper struct {
	wake chan struct{} // told when something falls due sooner than is waited for

	mu      sync.Mutex
	sweep   bool      // store and nodes are to be compared at once
	waiting time.Time // the next deadline; zero while due work is done
	forget  []forgettable
}

// forgettable is an ended execution that its node still holds.
type forgettable struct {
	at        time.Time
	node      ExecutionNode
	sandbox   string
	execution string
}

func newReaper() *reaper { return &reaper{wake: make(chan struct{}, 1)} }

// Arm makes the reaper look at the session in time.
func (r *reaper) Arm(session yurt.Session) {
	at, _ := session.Expiry()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting.IsZero() || at.Before(r.waiting) {
		r.notify()
	}
}

// ForgetLater has the node forget the execution in a while. The delay is the same
// for all, so the list stays in order.
func (r *reaper) ForgetLater(node ExecutionNode, sandboxID, executionID string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.forget = append(r.forget, forgettable{now.Add(forgetAfter), node, sandboxID, executionID}); len(r.forget) > maxRemembered {
		r.notify()
	}
}

// notify wakes the reaper, or has it look again when it is awake.
func (r *reaper) notify() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// sweepSoon has store and nodes compared at once.
func (r *reaper) sweepSoon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep = true
	r.notify()
}

// takeSweep reports whether that was asked for since it was last called.
func (r *reaper) takeSweep() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.sweep
	r.sweep = false
	return asked
}

// takeForgettable returns the executions to forget by now, and those beyond the greatest number.
func (r *reaper) takeForgettable(now time.Time) []forgettable {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := max(0, len(r.forget)-maxRemembered)
	for n < len(r.forget) && !r.forget[n].at.After(now) {
		n++
	}
	due := r.forget[:n:n]
	r.forget = r.forget[n:]
	return due
}

// waitUntil notes the next deadline and returns it: at, or sooner when an execution is to be forgotten before.
func (r *reaper) waitUntil(at time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.forget) > 0 && r.forget[0].at.Before(at) {
		at = r.forget[0].at
	}
	r.waiting = at
	return at
}

func (r *reaper) working() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = time.Time{}
}

// reap does the work that falls due until ctx is done. Of several controllers, one ends sessions and sweeps; each has the nodes
// forget the executions that it followed.
func (c *Controller) reap(ctx context.Context, watchers *nodeWatchers) {
	sweepAt := c.nextSweep(c.life.Clock.Now())
	for ctx.Err() == nil {
		c.reaper.working()
		now := c.life.Clock.Now()
		c.forgetDue(ctx, now)
		if !c.life.Members.Leads() {
			c.waitUntil(ctx, now.Add(sweepInterval)) // or until it does
			continue
		}
		next := c.expire(ctx, now)
		if c.reaper.takeSweep() || !now.Before(sweepAt) {
			c.sweep(ctx, now)
			watchers.refresh(ctx)
			c.guard.forget()
			sweepAt = c.nextSweep(c.life.Clock.Now()) // when its suspects are old enough to be judged
		}
		if next.IsZero() || sweepAt.Before(next) {
			next = sweepAt
		}
		c.checkNodes(ctx)
		if poll := now.Add(c.poll()); poll.Before(next) {
			next = poll
		}
		c.waitUntil(ctx, next)
	}
}

// nextSweep returns the time of the next sweep: soon, where the last one found a state that may be about to change, or could not
// look.
func (c *Controller) nextSweep(now time.Time) time.Time {
	switch {
	case c.guard.resweeps():
		return now.Add(reach.NodePoll)
	case len(c.suspects) > 0 || len(c.guard.untrue) > 0:
		return now.Add(suspectGrace)
	}
	return now.Add(sweepInterval)
}

// poll is the pause between two looks at changes of others: the other controllers, or the nodes.
func (c *Controller) poll() time.Duration {
	if c.life.Members.Shared() {
		return expiryPoll
	}
	return reach.NodePoll
}

func (c *Controller) waitUntil(ctx context.Context, at time.Time) {
	fired, stop := c.life.Clock.Until(c.reaper.waitUntil(at))
	defer stop()
	select {
	case <-fired:
	case <-c.reaper.wake:
	case <-ctx.Done():
	}
}

// expire ends the sessions that have run out and returns when the next one does, or the zero time.
func (c *Controller) expire(ctx context.Context, now time.Time) time.Time {
	for {
		expired, err := c.store.ExpiredSessions(ctx, now.UTC(), reapBatch)
		if err != nil {
			c.life.Log.Error("finding expired sessions", "error", err)
			return now.Add(storeBackoff)
		}
		if len(expired) == 0 {
			break
		}
		for _, session := range expired {
			if err := c.expireSession(ctx, session.ID, now); err != nil {
				c.life.Log.Error("ending an expired session", "session", session.ID, "error", err)
				return now.Add(storeBackoff)
			}
		}
	}
	next, err := c.store.NextExpiry(ctx)
	if err != nil {
		c.life.Log.Error("finding the next expiry", "error", err)
		return now.Add(storeBackoff)
	}
	return next
}

// expireSession ends the session if it has still run out: it may have been used
// since it was found.
func (c *Controller) expireSession(ctx context.Context, id string, now time.Time) error {
	reason, ended := "", false
	session, err := c.store.ChangeSession(ctx, id, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		var at time.Time
		if at, reason = s.Expiry(); s.State.Ended() || at.After(now) {
			ended = false
			return nil, nil
		}
		ended = true
		change, err := s.Transition(yurt.SessionTerminated, reason, c.life.Now())
		return []yurt.Transition{change}, err
	})
	if err != nil || !ended {
		return err
	}
	c.life.Log.Info("session expired", "session", id, "reason", reason)
	c.metrics.expired.Inc()
	c.tracker.Teardown(session, yurt.ErrorTypeSessionEnded, "the session ended while it ran: "+reason)
	return nil
}

// forgetDue lets the nodes release executions whose replay time is over; watchers still get the rest from the stored result. An
// error costs the node a little memory until the sandbox is destroyed.
func (c *Controller) forgetDue(ctx context.Context, now time.Time) {
	for _, due := range c.reaper.takeForgettable(now) {
		if err := due.node.ForgetExecution(ctx, due.sandbox, due.execution); err != nil && yurt.CodeOf(err) != yurt.CodeSandboxNotFound {
			c.life.Log.Debug("forgetting an execution", "execution", due.execution, "error", err)
		}
	}
}
