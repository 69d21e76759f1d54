package controller

import (
	"context"
	"time"

	"github.com/yurtrun/yurt"
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
