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
	if err := c.ledger.obeyPause(work, session); err != nil {
		if undoErr := c.ledger.undoPause(work, session, before); undoErr != nil {
			c.life.Log.Error("taking back a pause or resume", "session", id, "error", undoErr)
		}
		return yurt.Session{}, err
	}
	c.deadlines.Arm(session)
	return session, nil
}
