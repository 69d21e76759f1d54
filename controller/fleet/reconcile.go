package fleet

import (
	"context"
	"fmt"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/life"
)

// sweep repairs differences that arose since the last one, and removes old records.
func (k *Keeper) sweep(ctx context.Context, now time.Time) {
	if err := k.reconcile(ctx); err != nil {
		k.life.Log.Error("comparing sessions with sandboxes", "error", err)
	}
	purged, err := k.store.PurgeSessions(ctx, now.Add(-k.retention).UTC())
	if err != nil {
		k.life.Log.Error("purging ended sessions", "error", err)
	} else if purged > 0 {
		k.life.Log.Info("purged ended sessions", "count", purged)
	}
	k.executions.Trim(ctx, "", k.space)
	k.shrinkStore(ctx) // also after results that were deleted
}

// shrinkStore returns the store's free space to the disk.
func (k *Keeper) shrinkStore(ctx context.Context) {
	if k.shrink == nil {
		return
	}
	if err := k.shrink.Shrink(ctx); err != nil {
		k.life.Log.Error("shrinking the store", "error", err)
	}
}

// reconcile compares the sessions of the store with the sandboxes of the nodes.
// Sessions are read first: one that is read has had its sandbox before the
// sandboxes are listed, so a sandbox that is missing then is gone.
func (k *Keeper) reconcile(ctx context.Context) error {
	sessions, err := k.store.Sessions(ctx, contract.SessionQuery{Live: true})
	if err != nil {
		return fmt.Errorf("listing sessions: %w", err)
	}
	unfinished, err := k.store.UnfinishedExecutions(ctx, "")
	if err != nil {
		return fmt.Errorf("listing unfinished executions: %w", err)
	}
	// The owners of these records are judged alive by leases that are read after the records.
	if err := k.life.Members.Look(ctx); err != nil {
		return err
	}
	nodes, err := k.placer.Nodes(ctx)
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	listed := listSandboxes(ctx, k.life.Log, nodes)
	if err := k.checkStore(ctx, sessions, listed); err != nil {
		return err
	}
	k.guard.noteListed(nodes, listed)
	running := map[string][]yurt.Execution{}
	for _, record := range unfinished {
		running[record.SessionID] = append(running[record.SessionID], record)
	}
	for _, session := range sessions {
		if err := k.judgeSession(ctx, session, running[session.ID], listed); err != nil {
			return fmt.Errorf("judging session %s: %w", session.ID, err)
		}
	}
	if err := k.executions.EndOrphans(ctx, unfinished); err != nil {
		return err
	}
	k.judgeSandboxes(ctx, nodes, listed)
	k.releaseLeakedSlots(ctx)
	return k.checkNotices(ctx, sessions)
}

// judgeSandboxes destroys sandboxes that belong to no session.
func (k *Keeper) judgeSandboxes(ctx context.Context, nodes map[string]contract.Node, listed map[string]map[string]yurt.Sandbox) {
	suspects, held, now := map[string]time.Time{}, map[string]bool{}, k.life.Clock.Now()
	for name, sandboxes := range listed {
		for _, sandbox := range sandboxes {
			belongs, err := k.whose(ctx, sandbox)
			switch {
			case err != nil || belongs == toSession:
			case belongs == toUnknownSession && !k.orphans.mayDestroy():
				held[sandbox.ID] = true
			case k.life.Members.Shared() && !longSince(k.suspects, sandbox.ID, now):
				suspects[sandbox.ID] = firstSeen(k.suspects, sandbox.ID, now) // another controller may be about to destroy it
			default:
				err = k.destroyOrphan(ctx, name, nodes[name], sandbox)
			}
			if err != nil {
				k.life.Log.Error("judging a sandbox", "node", name, "sandbox", sandbox.ID, "error", err)
			}
		}
	}
	k.suspects = suspects
	for _, id := range k.orphans.hold(held) {
		k.life.Log.Warn("leaving a sandbox as it is, since the store does not know its session", "sandbox", id)
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

// whose judges to which session a sandbox belongs, if any.
func (k *Keeper) whose(ctx context.Context, sandbox yurt.Sandbox) (ownership, error) {
	owner := sandbox.Labels[yurt.SessionLabel]
	if owner == "" {
		return toSession, nil
	}
	// This comes before the store is read: otherwise a session that is placed between the two reads would seem not to
	// own its sandbox, and lose it.
	if k.sessions.Placing(owner) || k.executions.Busy(owner) {
		return toSession, nil // or its teardown is under way
	}
	session, err := k.store.Session(ctx, owner)
	switch {
	case yurt.CodeOf(err) == yurt.CodeSessionNotFound:
		return toUnknownSession, nil
	case err != nil:
		return toSession, err
	}
	k.orphans.noteKnown(owner)
	switch {
	case !session.State.Ended() && session.SandboxID == sandbox.ID,
		session.State == yurt.SessionCreating && session.Owner != k.life.ID && k.life.Members.Lives(session.Owner):
		return toSession, nil
	}
	return toEndedSession, nil
}

func (k *Keeper) destroyOrphan(ctx context.Context, nodeName string, node contract.Node, sandbox yurt.Sandbox) error {
	k.life.Log.Warn("destroying a sandbox without a session", "node", nodeName, "sandbox", sandbox.ID, "session", sandbox.Labels[yurt.SessionLabel])
	work, cancel := life.Detached(ctx, teardownLimit)
	defer cancel()
	return node.DestroySandbox(work, sandbox.ID)
}

// judgeSession fails a session whose sandbox is gone and follows the executions of
// one whose sandbox lives.
func (k *Keeper) judgeSession(ctx context.Context, session yurt.Session, running []yurt.Execution, listed map[string]map[string]yurt.Sandbox) error {
	if session.State == yurt.SessionCreating {
		if k.sessions.Placing(session.ID) || session.Owner != k.life.ID && k.life.Members.Lives(session.Owner) {
			return nil
		}
		stillCreating := func(s *yurt.Session) bool { return s.State == yurt.SessionCreating } // it may be ready by now
		return k.sessions.FailIf(ctx, session.ID, "it was interrupted by a restart while its sandbox was made", stillCreating)
	}
	sandboxes, reachable := listed[session.Placement.Node]
	if !reachable {
		return k.judgeUnreachable(session)
	}
	sandbox, ok := sandboxes[session.SandboxID]
	switch {
	case !ok:
		return k.sessions.Fail(ctx, session.ID, "its sandbox is gone from node "+session.Placement.Node)
	case sandbox.State == yurt.SandboxDead:
		return k.sessions.Fail(ctx, session.ID, deathReason(sandbox))
	}
	if err := k.sessions.FollowPause(ctx, session, sandbox); err != nil {
		return err
	}
	return k.executions.Adopt(ctx, session, running)
}

// judgeUnreachable leaves a session on a node that does not answer to its idle
// timeout, unless the node turns out to be lost.
func (k *Keeper) judgeUnreachable(session yurt.Session) error {
	k.guard.note(session.Placement.Node)
	return nil
}

// deathReason says why a sandbox died.
func deathReason(sandbox yurt.Sandbox) string {
	if sandbox.Reason == "" {
		return "its sandbox died"
	}
	return "its sandbox died: " + sandbox.Reason
}
