package controller

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/yurtrun/yurt"
)

const (
	reuseLooks = 20 // sessions of an agent that are looked at for one to reuse
	agentLooks = 10 // and for where it was
	agentNodes = 3  // nodes that are named to the placer
)

// reuse returns the agent's newest session that is what asked describes, if there is
// one: live, persistent, of the same template, with the same resources and environment.
// One that is paused is resumed. Its own timeouts and metadata stay.
func (c *Controller) reuse(ctx context.Context, asked yurt.Session) (_ yurt.Session, found bool, _ error) {
	begin := time.Now()
	sessions, err := c.store.Sessions(ctx, SessionQuery{
		AgentID: asked.AgentID, TemplateID: asked.TemplateID, Live: true, Limit: reuseLooks,
	})
	if err != nil {
		return yurt.Session{}, false, err
	}
	for _, session := range sessions {
		if !sameKind(session, asked) {
			continue
		}
		session, err := c.takeUp(ctx, session)
		if err != nil {
			c.log.Warn("a session cannot be reused", "session", session.ID, "error", err)
			continue
		}
		session.Placement = yurt.Placement{
			Kind: yurt.PlacementReused, Node: session.Placement.Node,
			Phases: map[string]float64{"find": float64(time.Since(begin).Microseconds()) / 1000},
		}
		c.metrics.sessionCreated(yurt.PlacementReused, time.Since(begin))
		return session, true, nil
	}
	return yurt.Session{}, false, nil
}

// sameKind reports whether whoever asked for one session is served by the other.
func sameKind(session, asked yurt.Session) bool {
	return session.Mode == yurt.ModePersistent && session.State != yurt.SessionCreating &&
		session.Resources == asked.Resources && maps.Equal(session.Env, asked.Env)
}

// takeUp makes a session that was found usable, and counts as its use.
func (c *Controller) takeUp(ctx context.Context, session yurt.Session) (yurt.Session, error) {
	if _, err := c.placer.Node(ctx, session.Placement.Node); err != nil {
		return session, err
	}
	if session.State == yurt.SessionPaused {
		resumed, err := c.ResumeSession(ctx, session.ID)
		if err != nil {
			return session, err
		}
		return resumed, nil
	}
	used, err := c.store.ChangeSession(ctx, session.ID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		if s.State != yurt.SessionReady && s.State != yurt.SessionRunning {
			return nil, yurt.Errorf(yurt.CodeIllegalTransition, "session %s is %s meanwhile", s.ID, s.State)
		}
		s.ActiveAt = c.now()
		return nil, nil
	})
	if err != nil {
		return session, err
	}
	return used, nil
}

// hints says where a session would like to be: where its agent was before, last first.
func (c *Controller) hints(ctx context.Context, session yurt.Session) Hints {
	if session.AgentID == "" {
		return Hints{}
	}
	sessions, err := c.store.Sessions(ctx, SessionQuery{AgentID: session.AgentID, Limit: agentLooks})
	if err != nil {
		c.log.Warn("looking for where an agent was", "agent", session.AgentID, "error", err)
		return Hints{}
	}
	var hints Hints
	for _, earlier := range sessions {
		node := earlier.Placement.Node
		if node != "" && !slices.Contains(hints.Prefer, node) && len(hints.Prefer) < agentNodes {
			hints.Prefer = append(hints.Prefer, node)
		}
	}
	return hints
}
