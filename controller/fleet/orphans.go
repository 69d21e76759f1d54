package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/yurtrun/yurt"
)

// OrphanPolicy decides about living sandboxes whose session the store does not know at all. An ended session is known until it is
// purged.
type OrphanPolicy string

// The policies.
const (
	// OrphansRefuse, the default, has [Keeper.Run] fail when the store knows no sandbox of those that it finds, since that
	// store was emptied, or is another one. Sandboxes that a node brings later are held.
	OrphansRefuse OrphanPolicy = ""
	// OrphansDestroy destroys them.
	OrphansDestroy OrphanPolicy = "destroy"
	// OrphansKeep leaves them as they are, for as long as the controllers of the store have this policy.
	OrphansKeep OrphanPolicy = "keep"
)

// orphans is the leader's knowledge of sandboxes without a session. Its mutex is for warnings; all else is Run's alone.
type orphans struct {
	policy OrphanPolicy
	// trusted says that the store is the one that the nodes' sandboxes were made with: it has known one of them.
	trusted bool
	// inherited holds the ids of the sessions that lived when this controller first looked. A sandbox of a later session does
	// not show whether the store is the right one. It is nil before that look.
	inherited map[string]bool

	mu   sync.Mutex
	held map[string]bool // by id of the sandbox
}

// checkStore decides at the first look whether the store is the one that the living sandboxes belong to, before
// any session or sandbox is touched.
func (k *Keeper) checkStore(ctx context.Context, sessions []yurt.Session, listed map[string]map[string]yurt.Sandbox) error {
	if k.orphans.inherited != nil {
		return nil
	}
	var unknown []string
	for node, sandboxes := range listed {
		for _, sandbox := range sandboxes {
			owner := sandbox.Labels[yurt.SessionLabel]
			if owner == "" || sandbox.State == yurt.SandboxDead {
				continue
			}
			_, err := k.store.Session(ctx, owner)
			switch {
			case err == nil:
				k.orphans.trusted = true
			case yurt.CodeOf(err) == yurt.CodeSessionNotFound:
				unknown = append(unknown, sandbox.ID+" on node "+node)
			default:
				return fmt.Errorf("looking for the session of sandbox %s: %w", sandbox.ID, err)
			}
		}
	}
	if len(unknown) > 0 && !k.orphans.trusted && k.orphans.policy == OrphansRefuse {
		return unknownSandboxes(unknown)
	}
	k.orphans.inherited = map[string]bool{}
	for _, session := range sessions {
		k.orphans.inherited[session.ID] = true
	}
	return nil
}

// shownOrphans is how many sandboxes an error names.
const shownOrphans = 3

func unknownSandboxes(unknown []string) error {
	slices.Sort(unknown)
	names := strings.Join(unknown[:min(shownOrphans, len(unknown))], ", ")
	if more := len(unknown) - shownOrphans; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return yurt.FieldErrorf(yurt.CodeUnavailable, "--adopt-orphans", "the store knows none of the sandboxes that run for sessions (%d: %s): it was emptied, or is not the one that they were made with. Nothing was touched. "+
		"Start again with the store that knows them; or give --adopt-orphans keep, to leave them running without a session, or --adopt-orphans destroy, to end them", len(unknown), names)
}

// noteKnown notes that the store knows a sandbox.
func (o *orphans) noteKnown(session string) { o.trusted = o.trusted || o.inherited[session] }

// mayDestroy reports whether sandboxes whose session the store does not know are to go.
func (o *orphans) mayDestroy() bool {
	return o.policy == OrphansDestroy || o.policy == OrphansRefuse && o.trusted
}

// hold replaces the list of the sandboxes that are left as they are and returns those that are new in it.
func (o *orphans) hold(ids map[string]bool) (added []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id := range ids {
		if !o.held[id] {
			added = append(added, id)
		}
	}
	o.held = maps.Clone(ids)
	return added
}

// warnings says how many sandboxes are left as they are.
func (o *orphans) warnings() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.held) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("sandboxes that run and whose session the store does not know: %d; --adopt-orphans destroy ends them", len(o.held))}
}
