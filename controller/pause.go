package controller

import (
	"context"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/life"
)

// pauseLimit is how long a node may take to pause a sandbox, or to resume it.
const pauseLimit = time.Minute

// PauseSession stops everything that runs in the session. It keeps its memory and gets
// no CPU time; the timeouts of its executions and its idle timeout stand still, its
// lifetime does not. One that is paused already stays so.
func (c *Controller) PauseSession(ctx context.Context, id string) (yurt.Session, error) {
	return c.changePause(ctx, id, func(s *yurt.Session, _ int, now time.Time) ([]yurt.Transition, error) {
		if s.State == yurt.SessionPaused {
			return nil, nil
		}
		change, err := s.Transition(yurt.SessionPaused, "paused by its user", now)
		return []yurt.Transition{change}, err
	})
}

// ResumeSession lets a paused session go on where it was. One that is not paused is a
// [yurt.CodeIllegalTransition] error.
func (c *Controller) ResumeSession(ctx context.Context, id string) (yurt.Session, error) {
	return c.changePause(ctx, id, func(s *yurt.Session, running int, now time.Time) ([]yurt.Transition, error) {
		if !s.State.Ended() && s.State != yurt.SessionPaused {
			return nil, yurt.Errorf(yurt.CodeIllegalTransition, "session %s is %s and not paused", s.ID, s.State)
		}
		to := yurt.SessionReady
		if running > 0 {
			to = yurt.SessionRunning
		}
		s.ActiveAt = now
		change, err := s.Transition(to, "resumed by its user", now)
		return []yurt.Transition{change}, err
	})
}

// changePause records the step first, so that no execution begins that the node would refuse, and then has the node take it.
func (c *Controller) changePause(ctx context.Context, id string, step func(s *yurt.Session, running int, now time.Time) ([]yurt.Transition, error)) (_ yurt.Session, err error) {
	defer c.reach.SayEnded(ctx, id, &err)
	if err := c.life.Serving(); err != nil {
		return yurt.Session{}, err
	}
	if _, err := c.reach.Session(ctx, id); err != nil {
		return yurt.Session{}, err
	}
	work, cancel := life.Detached(ctx, pauseLimit)
	defer cancel()
	var before yurt.Session
	session, err := c.store.ChangeSession(work, id, func(s *yurt.Session, running int) ([]yurt.Transition, error) {
		before = *s
		return step(s, running, c.life.Now())
	})
	if err != nil {
		return yurt.Session{}, err
	}
	if err := c.obeyPause(work, session); err != nil {
		if undoErr := c.undoPause(work, session, before); undoErr != nil {
			c.life.Log.Error("taking back a pause or resume", "session", id, "error", undoErr)
		}
		return yurt.Session{}, err
	}
	c.deadlines.Arm(session)
	return session, nil
}

// obeyPause has the session's sandbox be paused or not, as the session is.
func (c *Controller) obeyPause(ctx context.Context, session yurt.Session) error {
	node, err := c.reach.Node(ctx, session)
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
func (c *Controller) undoPause(ctx context.Context, after, before yurt.Session) error {
	_, err := c.store.ChangeSession(ctx, after.ID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		if s.State != after.State || s.State == before.State {
			return nil, nil
		}
		change, err := s.Transition(before.State, "its node refused", c.life.Now())
		return []yurt.Transition{change}, err
	})
	return err
}

// FollowPause makes a sandbox follow its session after a crash between the two.
func (c *Controller) FollowPause(ctx context.Context, session yurt.Session, sandbox yurt.Sandbox) error {
	if (session.State == yurt.SessionPaused) == (sandbox.State == yurt.SandboxPaused) {
		return nil
	}
	// The step may be on its way: the session was read before the sandbox.
	now, err := c.store.Session(ctx, session.ID)
	if err != nil || now.State != session.State {
		return err
	}
	return c.obeyPause(ctx, now)
}
