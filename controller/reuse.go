package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

const (
	reuseLooks = 20 // sessions of an agent that are looked at for one to reuse
	reuseTries = 3  // sessions that others make, and that fail, before a request gives up
)

// reuseOrCreate returns the agent's session that matches the request, or makes it. Of requests at once, at any controllers, one
// makes it: the store has one live session of a reuse key.
func (c *Controller) reuseOrCreate(ctx context.Context, req CreateSessionRequest, asked yurt.Session, template yurt.Template) (yurt.Session, error) {
	key, err := reuseKey(asked)
	if err != nil {
		return yurt.Session{}, err
	}
	asked.ReuseKey = key
	for range reuseTries {
		if found, ok, err := c.findReusable(ctx, asked); ok || err != nil {
			return found, err
		}
		made, err := c.createSession(ctx, req, asked, template)
		if !errors.Is(err, contract.ErrReuseTaken) {
			return made, err
		}
		if found, ok, err := c.awaitReusable(ctx, key); ok || err != nil {
			return found, err
		}
	}
	return yurt.Session{}, yurt.Errorf(yurt.CodeUnavailable, "other requests for this session of the agent make it, and fail; try again")
}

// reuseKey tells the requests of agents apart. It is a hash, since the environment may hold secrets.
func reuseKey(asked yurt.Session) (string, error) {
	data, err := json.Marshal(struct {
		Agent, Template string
		Resources       yurt.Resources
		Env             map[string]string
		Tenant          string
	}{asked.AgentID, asked.TemplateID, asked.Resources, asked.Env, asked.Tenant}) // maps marshal sorted
	if err != nil {
		return "", fmt.Errorf("hashing the request for reuse: %w", err)
	}
	hash := sha256.Sum256(data)
	return hex.EncodeToString(hash[:]), nil
}

// awaitReusable returns the live session that has the key, once its maker has made it. A made session that cannot be used gives
// the key up to the next one.
func (c *Controller) awaitReusable(ctx context.Context, key string) (_ yurt.Session, found bool, _ error) {
	begin := time.Now()
	holders, err := c.store.Sessions(ctx, contract.SessionQuery{ReuseKey: key, Live: true, Limit: 1})
	if err != nil || len(holders) == 0 {
		return yurt.Session{}, false, err
	}
	holder := holders[0]
	if holder.State == yurt.SessionCreating {
		if holder, err = c.awaitMade(ctx, holder.ID); err != nil || holder.State.Ended() {
			return yurt.Session{}, false, err
		}
	}
	if taken, err := c.reuse(ctx, holder, begin); err == nil {
		return taken, true, nil
	}
	if ctx.Err() != nil {
		return yurt.Session{}, false, ctx.Err()
	}
	_, err = c.store.ChangeSession(ctx, holder.ID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		s.ReuseKey = ""
		return nil, nil
	})
	return yurt.Session{}, false, err
}

// findReusable returns the agent's newest session that matches asked: live, persistent, of the same template, with the same
// resources and environment.
func (c *Controller) findReusable(ctx context.Context, asked yurt.Session) (_ yurt.Session, found bool, _ error) {
	begin := time.Now()
	sessions, err := c.store.Sessions(ctx, contract.SessionQuery{
		AgentID: asked.AgentID, TemplateID: asked.TemplateID, Live: true, Limit: reuseLooks,
	})
	if err != nil {
		return yurt.Session{}, false, err
	}
	for _, session := range sessions {
		if !sameKind(session, asked) {
			continue
		}
		taken, err := c.reuse(ctx, session, begin)
		if err == nil {
			return taken, true, nil
		}
		c.life.Log.Warn("a session cannot be reused", "session", session.ID, "error", err)
	}
	return yurt.Session{}, false, nil
}

// sameKind reports whether one session serves requests for the other.
func sameKind(session, asked yurt.Session) bool {
	return session.Mode == yurt.ModePersistent && session.State != yurt.SessionCreating &&
		session.Resources == asked.Resources && maps.Equal(session.Env, asked.Env)
}

// reuse makes a session that was found usable; one that is paused is resumed. Its own
// timeouts and metadata stay.
func (c *Controller) reuse(ctx context.Context, session yurt.Session, begin time.Time) (yurt.Session, error) {
	if _, err := c.placer.Node(ctx, session.Placement.Node); err != nil {
		return yurt.Session{}, err
	}
	used, err := c.use(ctx, session)
	if yurt.CodeOf(err) == yurt.CodeIllegalTransition { // another request has paused or resumed it meanwhile
		if session, err = c.store.Session(ctx, session.ID); err == nil {
			used, err = c.use(ctx, session)
		}
	}
	if err != nil {
		return yurt.Session{}, err
	}
	used.Placement = yurt.Placement{
		Kind: yurt.PlacementReused, Node: used.Placement.Node,
		Phases: map[string]float64{"find": float64(time.Since(begin).Microseconds()) / 1000},
	}
	c.metrics.sessionCreated(yurt.PlacementReused, time.Since(begin))
	return used, nil
}

// use counts as a use of the session, in the state in which it was found.
func (c *Controller) use(ctx context.Context, session yurt.Session) (yurt.Session, error) {
	if session.State == yurt.SessionPaused {
		return c.ResumeSession(ctx, session.ID)
	}
	return c.store.ChangeSession(ctx, session.ID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		if s.State != yurt.SessionReady && s.State != yurt.SessionRunning {
			return nil, yurt.Errorf(yurt.CodeIllegalTransition, "session %s is %s meanwhile", s.ID, s.State)
		}
		s.ActiveAt = c.life.Now()
		return nil, nil
	})
}
