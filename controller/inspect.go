package controller

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
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
	c.reaper.Arm(session)
	return session, nil
}

// Sandboxes lists the sandboxes of all nodes that answer, oldest first.
func (c *Controller) Sandboxes(ctx context.Context) ([]yurt.Sandbox, error) {
	nodes, err := c.placer.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	shown, err := c.shownSandboxes(ctx)
	if err != nil {
		return nil, err
	}
	var list []yurt.Sandbox
	for _, sandboxes := range c.listSandboxes(ctx, nodes) {
		for _, sandbox := range sandboxes {
			if shown(sandbox) {
				list = append(list, sandbox)
			}
		}
	}
	slices.SortFunc(list, func(a, b yurt.Sandbox) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	return list, nil
}

// shownSandboxes tells which sandboxes the caller may see: those of its tenant's sessions. The operator sees the warm ones too.
func (c *Controller) shownSandboxes(ctx context.Context) (func(yurt.Sandbox) bool, error) {
	caller, known := access.From(ctx)
	if !known || caller.Everywhere() {
		return func(yurt.Sandbox) bool { return true }, nil
	}
	sessions, err := c.store.Sessions(ctx, SessionQuery{Live: true})
	if err != nil {
		return nil, err
	}
	own := make(map[string]bool, len(sessions))
	for _, session := range sessions {
		own[session.ID] = true
	}
	return func(s yurt.Sandbox) bool {
		owner := s.Labels[yurt.SessionLabel]
		return own[owner] || owner == "" && caller.Operates()
	}, nil
}

// Sandbox returns one of them.
func (c *Controller) Sandbox(ctx context.Context, id string) (yurt.Sandbox, error) {
	list, err := c.Sandboxes(ctx)
	if err != nil {
		return yurt.Sandbox{}, err
	}
	at := slices.IndexFunc(list, func(s yurt.Sandbox) bool { return s.ID == id })
	if at < 0 {
		return yurt.Sandbox{}, yurt.Errorf(yurt.CodeSandboxNotFound, "no node that answers has a sandbox %.64q", id)
	}
	return list[at], nil
}
