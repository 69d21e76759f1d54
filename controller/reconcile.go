package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/life"
)

// recoverSessions judges the remains of an earlier life: sessions without a sandbox, sandboxes without a session,
// executions without a follower.
func (c *Controller) recoverSessions(ctx context.Context) error {
	return c.reconcile(ctx)
}

// sweep repairs differences that arose since the last one, and removes old records.
func (c *Controller) sweep(ctx context.Context, now time.Time) {
	if err := c.reconcile(ctx); err != nil {
		c.life.Log.Error("comparing sessions with sandboxes", "error", err)
	}
	purged, err := c.store.PurgeSessions(ctx, now.Add(-c.retention).UTC())
	if err != nil {
		c.life.Log.Error("purging ended sessions", "error", err)
	} else if purged > 0 {
		c.life.Log.Info("purged ended sessions", "count", purged)
	}
	c.tracker.Trim(ctx, "", c.space)
	c.shrinkStore(ctx) // also after results that were deleted
}

// shrinkStore returns the store's free space to the disk.
func (c *Controller) shrinkStore(ctx context.Context) {
	store, may := c.store.(ShrinkStore)
	if !may {
		return
	}
	if err := store.Shrink(ctx); err != nil {
		c.life.Log.Error("shrinking the store", "error", err)
	}
}

// reconcile compares the sessions of the store with the sandboxes of the nodes.
// Sessions are read first: one that is read has had its sandbox before the
// sandboxes are listed, so a sandbox that is missing then is gone.
func (c *Controller) reconcile(ctx context.Context) error {
	sessions, err := c.store.Sessions(ctx, SessionQuery{Live: true})
	if err != nil {
		return fmt.Errorf("listing sessions: %w", err)
	}
	unfinished, err := c.store.UnfinishedExecutions(ctx, "")
	if err != nil {
		return fmt.Errorf("listing unfinished executions: %w", err)
	}
	// The owners of these records are judged alive by leases that are read after the records.
	if err := c.life.Members.Look(ctx); err != nil {
		return err
	}
	nodes, err := c.placer.Nodes(ctx)
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	listed := c.listSandboxes(ctx, nodes)
	if err := c.checkStore(ctx, sessions, listed); err != nil {
		return err
	}
	c.guard.noteListed(nodes, listed)
	running := map[string][]yurt.Execution{}
	for _, record := range unfinished {
		running[record.SessionID] = append(running[record.SessionID], record)
	}
	for _, session := range sessions {
		if err := c.judgeSession(ctx, session, running[session.ID], listed); err != nil {
			return fmt.Errorf("judging session %s: %w", session.ID, err)
		}
	}
	if err := c.tracker.EndOrphans(ctx, unfinished); err != nil {
		return err
	}
	c.judgeSandboxes(ctx, nodes, listed)
	c.releaseLeakedSlots(ctx)
	return c.checkNotices(ctx, sessions)
}

// judgeSandboxes destroys sandboxes that belong to no session.
func (c *Controller) judgeSandboxes(ctx context.Context, nodes map[string]Node, listed map[string]map[string]yurt.Sandbox) {
	suspects, held, now := map[string]time.Time{}, map[string]bool{}, c.life.Clock.Now()
	for name, sandboxes := range listed {
		for _, sandbox := range sandboxes {
			belongs, err := c.whose(ctx, sandbox)
			switch {
			case err != nil || belongs == toSession:
			case belongs == toUnknownSession && !c.orphans.mayDestroy():
				held[sandbox.ID] = true
			case c.life.Members.Shared() && !longSince(c.suspects, sandbox.ID, now):
				suspects[sandbox.ID] = firstSeen(c.suspects, sandbox.ID, now) // another controller may be about to destroy it
			default:
				err = c.destroyOrphan(ctx, name, nodes[name], sandbox)
			}
			if err != nil {
				c.life.Log.Error("judging a sandbox", "node", name, "sandbox", sandbox.ID, "error", err)
			}
		}
	}
	c.suspects = suspects
	for _, id := range c.orphans.hold(held) {
		c.life.Log.Warn("leaving a sandbox as it is, since the store does not know its session", "sandbox", id)
	}
}

// ownership is whom a sandbox belongs to.
type ownership int

const (
	toSession        ownership = iota // one that lives, or to an owner that is no session
	toEndedSession                    // or to one that has another sandbox
	toUnknownSession                  // the store has no session of its ID
)

// firstSeen is when something was first seen to be wrong that still is; now at the latest.
func firstSeen(seen map[string]time.Time, id string, now time.Time) time.Time {
	if at, known := seen[id]; known {
		return at
	}
	return now
}

// longSince reports whether a fault was first seen long enough ago that a request in progress would have repaired it.
func longSince(seen map[string]time.Time, id string, now time.Time) bool {
	at, known := seen[id]
	return known && now.Sub(at) >= suspectGrace
}

// listSandboxes returns the sandboxes by id, for each node that answers.
func (c *Controller) listSandboxes(ctx context.Context, nodes map[string]Node) map[string]map[string]yurt.Sandbox {
	listed := make(map[string]map[string]yurt.Sandbox, len(nodes))
	for name, node := range nodes {
		sandboxes, err := node.Sandboxes(ctx)
		if err != nil {
			c.life.Log.Error("listing the sandboxes of a node", "node", name, "error", err)
			continue
		}
		listed[name] = make(map[string]yurt.Sandbox, len(sandboxes))
		for _, sandbox := range sandboxes {
			listed[name][sandbox.ID] = sandbox
		}
	}
	return listed
}

// whose judges to which session a sandbox belongs, if any.
func (c *Controller) whose(ctx context.Context, sandbox yurt.Sandbox) (ownership, error) {
	owner := sandbox.Labels[yurt.SessionLabel]
	if owner == "" {
		return toSession, nil
	}
	// This comes before the store is read: otherwise a session that is placed between the two reads would seem not to
	// own its sandbox, and lose it.
	if c.isPlacing(owner) || c.tracker.Busy(owner) {
		return toSession, nil // or its teardown is under way
	}
	session, err := c.store.Session(ctx, owner)
	switch {
	case yurt.CodeOf(err) == yurt.CodeSessionNotFound:
		return toUnknownSession, nil
	case err != nil:
		return toSession, err
	}
	c.orphans.noteKnown(owner)
	switch {
	case !session.State.Ended() && session.SandboxID == sandbox.ID,
		session.State == yurt.SessionCreating && session.Owner != c.life.ID && c.life.Members.Lives(session.Owner):
		return toSession, nil
	}
	return toEndedSession, nil
}

func (c *Controller) destroyOrphan(ctx context.Context, nodeName string, node Node, sandbox yurt.Sandbox) error {
	c.life.Log.Warn("destroying a sandbox without a session", "node", nodeName, "sandbox", sandbox.ID, "session", sandbox.Labels[yurt.SessionLabel])
	work, cancel := life.Detached(ctx, teardownLimit)
	defer cancel()
	return node.DestroySandbox(work, sandbox.ID)
}

// judgeSession fails a session whose sandbox is gone and follows the executions of
// one whose sandbox lives.
func (c *Controller) judgeSession(ctx context.Context, session yurt.Session, running []yurt.Execution, listed map[string]map[string]yurt.Sandbox) error {
	if session.State == yurt.SessionCreating {
		if c.isPlacing(session.ID) || session.Owner != c.life.ID && c.life.Members.Lives(session.Owner) {
			return nil
		}
		stillCreating := func(s *yurt.Session) bool { return s.State == yurt.SessionCreating } // it may be ready by now
		return c.failSessionIf(ctx, session.ID, "it was interrupted by a restart while its sandbox was made", stillCreating)
	}
	sandboxes, reachable := listed[session.Placement.Node]
	if !reachable {
		return c.judgeUnreachable(session)
	}
	sandbox, ok := sandboxes[session.SandboxID]
	switch {
	case !ok:
		return c.failSession(ctx, session.ID, "its sandbox is gone from node "+session.Placement.Node)
	case sandbox.State == yurt.SandboxDead:
		return c.failSession(ctx, session.ID, deathReason(sandbox))
	}
	if err := c.reconcilePause(ctx, session, sandbox); err != nil {
		return err
	}
	return c.tracker.Adopt(ctx, session, running)
}

// judgeUnreachable leaves a session on a node that does not answer to its idle
// timeout, unless the node turns out to be lost.
func (c *Controller) judgeUnreachable(session yurt.Session) error {
	c.guard.note(session.Placement.Node)
	return nil
}

// deathReason says why a sandbox died.
func deathReason(sandbox yurt.Sandbox) string {
	if sandbox.Reason == "" {
		return "its sandbox died"
	}
	return "its sandbox died: " + sandbox.Reason
}
