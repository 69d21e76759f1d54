package controller

import (
	"context"
	"errors"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/internal/life"
)

const (
	// moveGrace is for the executions that a lost node had not acknowledged to be started
	// elsewhere, before their ephemeral sessions fail.
	moveGrace = 10 * time.Second
	// maxResweeps is how many times in a row a node that is there, and cannot be listed, has the next
	// sweep come at once: one that has just come back is reached in a moment.
	maxResweeps = 10
)

// nodeGuard is the leader's memory of nodes between two looks. It is Run's alone.
type nodeGuard struct {
	known   map[string]bool      // nodes that sessions may be on
	there   map[string]bool      // those that were there when they were last looked at
	lost    map[string]time.Time // those of them that are lost, since when
	noticed map[string]bool      // nodes that drain, whose sessions were told since the last sweep
	drained map[string]bool      // nodes that drained when they were last looked at
	untrue  map[string]time.Time // sessions that were told to end though their node does not drain, since when
	deaf    map[string]int       // nodes that were there and could not be listed, in how many sweeps in a row
}

func newNodeGuard() nodeGuard {
	return nodeGuard{known: map[string]bool{}, there: map[string]bool{}, lost: map[string]time.Time{}, noticed: map[string]bool{}, drained: map[string]bool{}}
}

// note has the guard look after a node.
func (g *nodeGuard) note(name string) { g.known[name] = true }

// noteListed notes which of the nodes that are there could be listed.
func (g *nodeGuard) noteListed(nodes map[string]Node, listed map[string]map[string]yurt.Sandbox) {
	before := g.deaf
	g.deaf = map[string]int{}
	for name := range nodes {
		if _, answered := listed[name]; !answered {
			g.deaf[name] = before[name] + 1
		}
	}
}

// resweeps reports whether one that could not be listed may be listed in a moment.
func (g *nodeGuard) resweeps() bool {
	for _, times := range g.deaf {
		if times <= maxResweeps {
			return true
		}
	}
	return false
}

// forget has sessions on draining nodes get their notice again: some may have been in the making before.
func (g *nodeGuard) forget() { clear(g.noticed) }

// checkNodes fails the sessions of nodes that are lost, and tells those of nodes that
// drain.
func (c *Controller) checkNodes(ctx context.Context) {
	nodes, err := c.placer.Nodes(ctx)
	if err != nil {
		c.life.Log.Error("listing nodes", "error", err)
		return
	}
	there := make(map[string]bool, len(nodes))
	for name := range nodes {
		c.guard.note(name)
		delete(c.guard.lost, name)
		if there[name] = true; !c.guard.there[name] {
			c.reaper.sweepSoon() // it may have sandboxes that could not be ended while it was away
		}
	}
	c.guard.there = there
	for name := range c.guard.known {
		if _, there := nodes[name]; !there {
			c.checkMissing(ctx, name)
		}
	}
	c.checkDraining(ctx)
}

// checkMissing fails the sessions of a node that does not answer, once it is lost.
func (c *Controller) checkMissing(ctx context.Context, name string) {
	_, err := c.placer.Node(ctx, name)
	if yurt.CodeOf(err) != yurt.CodeNotFound {
		delete(c.guard.lost, name)
		return
	}
	now := c.life.Clock.Now()
	since, noted := c.guard.lost[name]
	if !noted {
		since = now
		c.guard.lost[name] = now
		c.life.Log.Warn("a node is lost", "node", name)
	}
	patient := now.Sub(since) < moveGrace
	if err := c.failSessionsOf(ctx, name, patient); err != nil {
		c.life.Log.Error("failing the sessions of a node that is lost", "node", name, "error", err)
		return
	}
	if !patient {
		delete(c.guard.known, name)
		delete(c.guard.lost, name)
	}
}

// failSessionsOf fails the sessions of a node that is lost; when it is patient, not those
// that may be started elsewhere.
func (c *Controller) failSessionsOf(ctx context.Context, name string, patient bool) error {
	sessions, err := c.sessionsOn(ctx, name)
	if err != nil {
		return err
	}
	for _, session := range sessions {
		if patient && session.Mode == yurt.ModeEphemeral && session.State == yurt.SessionRunning {
			continue
		}
		stillThere := func(s *yurt.Session) bool { return s.Placement.Node == name }
		if err := c.failSessionIf(ctx, session.ID, "its node "+name+" is lost", stillThere); err != nil {
			return err
		}
	}
	return nil
}

// sessionsOn lists the live sessions whose sandbox is on the node.
func (c *Controller) sessionsOn(ctx context.Context, name string) ([]yurt.Session, error) {
	live, err := c.store.Sessions(ctx, SessionQuery{Live: true})
	if err != nil {
		return nil, err
	}
	var on []yurt.Session
	for _, session := range live {
		if session.Placement.Node == name {
			on = append(on, session)
		}
	}
	return on, nil
}

// nodeIsLost reports whether the node that an execution runs on is lost, and notes it as
// the reason for its end. One that is not lost is followed to where it is now.
func (c *Controller) nodeIsLost(live *liveExecution) bool {
	work, cancel := life.Detached(live.ctx, startLimit)
	defer cancel()
	session, err := c.store.Session(work, live.record.SessionID)
	if err != nil || session.Placement.Node == "" {
		return false
	}
	node, err := c.placer.Node(work, session.Placement.Node)
	if err == nil {
		live.move(node, session.SandboxID)
	}
	if yurt.CodeOf(err) != yurt.CodeNotFound {
		return false
	}
	live.endWith(&endCause{yurt.ErrorTypeSandboxLost, "its node " + session.Placement.Node + " is lost"})
	return true
}

// startSomewhere starts an execution at its session's node. When that does not answer, it asks again for the one execution of an
// ephemeral session, under its id, until the node answers or is lost: then it starts it on another node. A lost node may have
// begun with it all the same, without an acknowledgement; its effects reach no caller.
func (c *Controller) startSomewhere(ctx context.Context, live *liveExecution, session yurt.Session, spec yurt.ExecutionSpec) error {
	for try := 1; ; try++ {
		node, sandbox := live.place()
		err := live.start(ctx, node, sandbox, spec)
		switch {
		case try > 1 && isRepeated(err):
			return nil
		case session.Mode != yurt.ModeEphemeral || !unanswered(err):
			return err
		}
		life.Sleep(live.ctx, nodeRetry)
		if ctx.Err() != nil || live.ctx.Err() != nil {
			return err
		}
		node, nodeErr := c.placer.Node(ctx, session.Placement.Node)
		if nodeErr == nil {
			live.move(node, sandbox)
		}
		if yurt.CodeOf(nodeErr) != yurt.CodeNotFound {
			continue
		}
		if session, err = c.placeElsewhere(ctx, live, session); err != nil {
			return err
		}
	}
}

// isRepeated reports whether a node refuses an execution because it knows its id already.
func isRepeated(err error) bool {
	var coded *yurt.Error
	return errors.As(err, &coded) && coded.Code == yurt.CodeInvalidArgument && coded.Field == "id"
}

// placeElsewhere gives a session, whose node is lost before anything ran, another sandbox.
func (c *Controller) placeElsewhere(ctx context.Context, live *liveExecution, session yurt.Session) (yurt.Session, error) {
	if session.HasFiles {
		return session, yurt.Errorf(yurt.CodeSandboxFailed, "node %s is lost, and with it the files that the session was given; create another session", session.Placement.Node)
	}
	template, err := c.pooledTemplate(access.OfTenant(ctx, session.Tenant), session.TemplateID)
	if err != nil {
		return session, err
	}
	lost := session.Placement.Node
	session.SandboxID = yurt.NewSandboxID()
	sandbox, placement, err := c.placer.Place(ctx, session.SandboxSpec(template), Hints{})
	if err != nil {
		return session, yurt.OrCode(err, yurt.CodeSandboxFailed, "no sandbox could be made")
	}
	session.SandboxID, session.Placement = sandbox.ID, placement
	moved, err := c.store.ChangeSession(ctx, session.ID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		if s.State != yurt.SessionRunning {
			return nil, yurt.Errorf(yurt.CodeSessionEnded, "session %s is %s meanwhile: %s", s.ID, s.State, s.Reason)
		}
		s.SandboxID, s.Placement = sandbox.ID, placement
		return s.Remark("its node "+lost+" was lost before anything ran; it goes on at "+placement.Node, c.life.Now()), nil
	})
	if err == nil {
		var node Node
		if node, err = c.placer.Node(ctx, placement.Node); err == nil {
			live.move(node, sandbox.ID)
			c.life.Log.Info("session placed again", "session", session.ID, "lost", lost, "node", placement.Node)
			return moved, nil
		}
	}
	c.teardown(session, yurt.ErrorTypeSessionEnded, "")
	return session, err
}
