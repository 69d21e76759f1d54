package fleet

import (
	"context"
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

// reap does the work that falls due until ctx is done. Of several controllers, one ends sessions and sweeps; each has the nodes
// forget the executions that it followed.
func (k *Keeper) reap(ctx context.Context, watchers *nodeWatchers) {
	sweepAt := k.nextSweep(k.life.Clock.Now())
	for ctx.Err() == nil {
		k.deadlines.working()
		now := k.life.Clock.Now()
		k.forgetDue(ctx, now)
		if !k.life.Members.Leads() {
			k.waitUntil(ctx, now.Add(sweepInterval)) // or until it does
			continue
		}
		next := k.expire(ctx, now)
		if k.deadlines.takeSweep() || !now.Before(sweepAt) {
			k.sweep(ctx, now)
			watchers.refresh(ctx)
			k.guard.forget()
			sweepAt = k.nextSweep(k.life.Clock.Now()) // when its suspects are old enough to be judged
		}
		if next.IsZero() || sweepAt.Before(next) {
			next = sweepAt
		}
		k.checkNodes(ctx)
		if poll := now.Add(k.poll()); poll.Before(next) {
			next = poll
		}
		k.waitUntil(ctx, next)
	}
}

// nextSweep returns the time of the next sweep: soon, where the last one found a state that may be about to change, or could not
// look.
func (k *Keeper) nextSweep(now time.Time) time.Time {
	switch {
	case k.guard.resweeps():
		return now.Add(reach.NodePoll)
	case len(k.suspects) > 0 || len(k.guard.untrue) > 0:
		return now.Add(suspectGrace)
	}
	return now.Add(sweepInterval)
}

// poll is the pause between two looks at changes of others: the other controllers, or the nodes.
func (k *Keeper) poll() time.Duration {
	if k.life.Members.Shared() {
		return expiryPoll
	}
	return reach.NodePoll
}

func (k *Keeper) waitUntil(ctx context.Context, at time.Time) {
	fired, stop := k.life.Clock.Until(k.deadlines.waitUntil(at))
	defer stop()
	select {
	case <-fired:
	case <-k.deadlines.wake:
	case <-ctx.Done():
	}
}

// expire ends the sessions that have run out and returns when the next one does, or the zero time.
func (k *Keeper) expire(ctx context.Context, now time.Time) time.Time {
	for {
		expired, err := k.store.ExpiredSessions(ctx, now.UTC(), reapBatch)
		if err != nil {
			k.life.Log.Error("finding expired sessions", "error", err)
			return now.Add(storeBackoff)
		}
		if len(expired) == 0 {
			break
		}
		for _, session := range expired {
			if err := k.expireSession(ctx, session.ID, now); err != nil {
				k.life.Log.Error("ending an expired session", "session", session.ID, "error", err)
				return now.Add(storeBackoff)
			}
		}
	}
	next, err := k.store.NextExpiry(ctx)
	if err != nil {
		k.life.Log.Error("finding the next expiry", "error", err)
		return now.Add(storeBackoff)
	}
	return next
}

// expireSession ends the session if it has still run out: it may have been used
// since it was found.
func (k *Keeper) expireSession(ctx context.Context, id string, now time.Time) error {
	reason, ended := "", false
	session, err := k.store.ChangeSession(ctx, id, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		var at time.Time
		if at, reason = s.Expiry(); s.State.Ended() || at.After(now) {
			ended = false
			return nil, nil
		}
		ended = true
		change, err := s.Transition(yurt.SessionTerminated, reason, k.life.Now())
		return []yurt.Transition{change}, err
	})
	if err != nil || !ended {
		return err
	}
	k.life.Log.Info("session expired", "session", id, "reason", reason)
	k.expired()
	k.executions.Teardown(session, yurt.ErrorTypeSessionEnded, "the session ended while it ran: "+reason)
	return nil
}

// forgetDue lets the nodes release executions whose replay time is over; watchers still get the rest from the stored result. An
// error costs the node a little memory until the sandbox is destroyed.
func (k *Keeper) forgetDue(ctx context.Context, now time.Time) {
	for _, due := range k.deadlines.takeForgettable(now) {
		if err := due.node.ForgetExecution(ctx, due.sandbox, due.execution); err != nil && yurt.CodeOf(err) != yurt.CodeSandboxNotFound {
			k.life.Log.Debug("forgetting an execution", "execution", due.execution, "error", err)
		}
	}
}
