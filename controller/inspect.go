package controller

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/optional"
)

// Processes lists the processes of the session's executions, and those that outlived theirs.
func (c *Controller) Processes(ctx context.Context, sessionID string) (_ []yurt.Process, err error) {
	defer c.reach.SayEnded(ctx, sessionID, &err)
	session, node, err := c.reach.Use(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	return node.Processes(ctx, session.SandboxID)
}

// SignalProcess sends a signal to one of them, by its number inside the sandbox.
func (c *Controller) SignalProcess(ctx context.Context, sessionID string, pid int, signal yurt.Signal) (err error) {
	defer c.reach.SayEnded(ctx, sessionID, &err)
	if err := signal.Validate("signal"); err != nil {
		return err
	}
	session, node, err := c.reach.Use(ctx, sessionID)
	if err != nil {
		return err
	}
	return node.SignalProcess(ctx, session.SandboxID, pid, signal)
}

// SessionStats returns the resource use of the session's sandbox. It does not count as a use of the session.
func (c *Controller) SessionStats(ctx context.Context, sessionID string) (_ yurt.SandboxStats, err error) {
	defer c.reach.SayEnded(ctx, sessionID, &err)
	session, err := c.reach.Session(ctx, sessionID)
	if err != nil {
		return yurt.SandboxStats{}, err
	}
	if err := session.HasSandbox(); err != nil {
		return yurt.SandboxStats{}, err
	}
	node, err := c.reach.Node(ctx, session)
	if err != nil {
		return yurt.SandboxStats{}, err
	}
	return node.SandboxStats(ctx, session.SandboxID)
}

// SetTimeouts gives the session another lifetime, since its creation, and another idle timeout. nil leaves one as it is.
func (c *Controller) SetTimeouts(ctx context.Context, id string, lifetime, idle *yurt.Duration) (yurt.Session, error) {
	if lifetime == nil && idle == nil {
		return yurt.Session{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, "timeout", "give a timeout, an idle_timeout or both")
	}
	if _, err := c.reach.Session(ctx, id); err != nil {
		return yurt.Session{}, err
	}
	session, err := c.store.ChangeSession(ctx, id, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		if s.State.Ended() {
			return nil, yurt.Errorf(yurt.CodeSessionEnded, "session %s has ended (%s: %s); create a new one", s.ID, s.State, s.Reason)
		}
		s.Timeout, s.IdleTimeout = optional.Or(lifetime, s.Timeout), optional.Or(idle, s.IdleTimeout)
		s.UpdatedAt = c.life.Now()
		return nil, yurt.ValidateSessionTimeouts(s.Timeout, s.IdleTimeout)
	})
	if err != nil {
		return yurt.Session{}, err
	}
	c.deadlines.Arm(session)
	return session, nil
}
