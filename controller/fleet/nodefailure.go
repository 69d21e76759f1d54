package fleet

import (
	"context"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
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
func (g *nodeGuard) noteListed(nodes map[string]contract.Node, listed map[string]map[string]yurt.Sandbox) {
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
func (k *Keeper) checkNodes(ctx context.Context) {
	nodes, err := k.placer.Nodes(ctx)
	if err != nil {
		k.life.Log.Error("listing nodes", "error", err)
		return
	}
	there := make(map[string]bool, len(nodes))
	for name := range nodes {
		k.guard.note(name)
		delete(k.guard.lost, name)
		if there[name] = true; !k.guard.there[name] {
			k.deadlines.SweepSoon() // it may have sandboxes that could not be ended while it was away
		}
	}
	k.guard.there = there
	for name := range k.guard.known {
		if _, there := nodes[name]; !there {
			k.checkMissing(ctx, name)
		}
	}
	k.checkDraining(ctx)
}

// checkMissing fails the sessions of a node that does not answer, once it is lost.
func (k *Keeper) checkMissing(ctx context.Context, name string) {
	_, err := k.placer.Node(ctx, name)
	if yurt.CodeOf(err) != yurt.CodeNotFound {
		delete(k.guard.lost, name)
		return
	}
	now := k.life.Clock.Now()
	since, noted := k.guard.lost[name]
	if !noted {
		since = now
		k.guard.lost[name] = now
		k.life.Log.Warn("a node is lost", "node", name)
	}
	patient := now.Sub(since) < moveGrace
	if err := k.failSessionsOf(ctx, name, patient); err != nil {
		k.life.Log.Error("failing the sessions of a node that is lost", "node", name, "error", err)
		return
	}
	if !patient {
		delete(k.guard.known, name)
		delete(k.guard.lost, name)
	}
}

// failSessionsOf fails the sessions of a node that is lost; when it is patient, not those
// that may be started elsewhere.
func (k *Keeper) failSessionsOf(ctx context.Context, name string, patient bool) error {
	sessions, err := k.notices.sessionsOn(ctx, name)
	if err != nil {
		return err
	}
	for _, session := range sessions {
		if patient && session.Mode == yurt.ModeEphemeral && session.State == yurt.SessionRunning {
			continue
		}
		stillThere := func(s *yurt.Session) bool { return s.Placement.Node == name }
		if err := k.sessions.FailIf(ctx, session.ID, "its node "+name+" is lost", stillThere); err != nil {
			return err
		}
	}
	return nil
}
