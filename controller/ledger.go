package controller

import (
	"context"
	"sync"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/execution"
	"github.com/yurtrun/yurt/controller/internal/life"
	"github.com/yurtrun/yurt/controller/internal/reach"
)

// ledger takes those steps of sessions that requests and the fleet have in common. Each is one transaction of the store.
type ledger struct {
	life    *life.Life
	reach   *reach.Reach
	store   contract.SessionStore
	tracker *execution.Tracker

	mu      sync.Mutex
	placing map[string]chan struct{} // sessions that this controller is placing; closed when placed or failed
}

// begin notes that this controller is making the session, so that neither
// sweep nor recovery takes it for one that a crash left behind.
func (l *ledger) begin(id string) (placed func()) {
	done := make(chan struct{})
	l.mu.Lock()
	l.placing[id] = done
	l.mu.Unlock()
	return func() {
		l.mu.Lock()
		delete(l.placing, id)
		l.mu.Unlock()
		close(done)
	}
}

// Placing reports whether this controller is making the session.
func (l *ledger) Placing(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.placing[id] != nil
}

// await waits until this controller has made the session, if it is making it.
func (l *ledger) await(ctx context.Context, id string) error {
	l.mu.Lock()
	done := l.placing[id]
	l.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ready notes that the session has a sandbox.
func (l *ledger) ready(ctx context.Context, id string, sandbox yurt.Sandbox, placement yurt.Placement) (yurt.Session, error) {
	return l.store.ChangeSession(ctx, id, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		now := l.life.Now()
		change, err := s.Transition(yurt.SessionReady, "its sandbox is ready", now)
		if err != nil {
			return nil, err
		}
		s.SandboxID, s.Placement, s.ActiveAt, s.Owner = sandbox.ID, placement, now, ""
		return []yurt.Transition{change}, nil
	})
}

// end ends the session and clears up after it.
func (l *ledger) end(ctx context.Context, id, reason string) (yurt.Session, error) {
	session, err := l.store.ChangeSession(ctx, id, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		change, err := s.Transition(yurt.SessionTerminated, reason, l.life.Now())
		return []yurt.Transition{change}, err
	})
	if err != nil {
		return yurt.Session{}, err
	}
	l.life.Log.Info("session ended", "session", id, "reason", reason)
	l.tracker.Teardown(session, yurt.ErrorTypeSessionEnded, "the session ended while it ran: "+reason)
	return session, nil
}

// Fail ends the session as failed, unless it has ended already, and clears
// up after it.
func (l *ledger) Fail(ctx context.Context, id, reason string) error {
	return l.FailIf(ctx, id, reason, func(*yurt.Session) bool { return true })
}

// FailIf does so only when holds still says so.
func (l *ledger) FailIf(ctx context.Context, id, reason string, holds func(*yurt.Session) bool) error {
	failed := false
	session, err := l.store.ChangeSession(ctx, id, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		if failed = !s.State.Ended() && holds(s); !failed {
			return nil, nil
		}
		change, err := s.Transition(yurt.SessionFailed, reason, l.life.Now())
		return []yurt.Transition{change}, err
	})
	if err != nil || !failed {
		return err
	}
	l.life.Log.Warn("session failed", "session", id, "reason", reason)
	l.tracker.Teardown(session, yurt.ErrorTypeSandboxLost, reason)
	return nil
}

// failUnplaced fails a session that is not going to be placed, once the store is there
// again, because of which that is so.
func (l *ledger) failUnplaced(cause error, id, reason string) {
	l.life.Repair(cause, "a session that could not be placed", id, func(ctx context.Context) error {
		err := l.Fail(ctx, id, reason)
		if yurt.CodeOf(err) == yurt.CodeSessionNotFound {
			return nil // it was not stored either
		}
		return err
	})
}

// obeyPause has the session's sandbox be paused or not, as the session is.
func (l *ledger) obeyPause(ctx context.Context, session yurt.Session) error {
	node, err := l.reach.Node(ctx, session)
	if err != nil {
		return err
	}
	if session.State == yurt.SessionPaused {
		return node.PauseSandbox(ctx, session.SandboxID)
	}
	return node.ResumeSandbox(ctx, session.SandboxID)
}

// undoPause puts the session back into the state before a step that its node refused,
// unless it has changed meanwhile.
func (l *ledger) undoPause(ctx context.Context, after, before yurt.Session) error {
	_, err := l.store.ChangeSession(ctx, after.ID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		if s.State != after.State || s.State == before.State {
			return nil, nil
		}
		change, err := s.Transition(before.State, "its node refused", l.life.Now())
		return []yurt.Transition{change}, err
	})
	return err
}

// FollowPause makes a sandbox follow its session after a crash between the two.
func (l *ledger) FollowPause(ctx context.Context, session yurt.Session, sandbox yurt.Sandbox) error {
	if (session.State == yurt.SessionPaused) == (sandbox.State == yurt.SandboxPaused) {
		return nil
	}
	// The step may be on its way: the session was read before the sandbox.
	now, err := l.store.Session(ctx, session.ID)
	if err != nil || now.State != session.State {
		return err
	}
	return l.obeyPause(ctx, now)
}
