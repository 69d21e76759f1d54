package fleet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/yurtrun/yurt"
)

// checkDraining gives notice to the sessions on nodes that another party drained, and to sessions that were placed on
// a draining node in the last moment.
func (k *Keeper) checkDraining(ctx context.Context) {
	nodes, err := k.placer.NodeList(ctx)
	if err != nil {
		k.life.Log.Error("listing nodes", "error", err)
		return
	}
	for _, node := range nodes {
		if !node.Draining {
			k.checkUndrained(ctx, node.Name)
			continue
		}
		k.guard.drained[node.Name] = true
		if k.guard.noticed[node.Name] {
			continue
		}
		at := k.life.Now().Add(DefaultDrainGrace)
		if node.EndsBy != nil {
			at = node.EndsBy.UTC()
		}
		told, err := k.notices.giveNotice(ctx, node.Name, at, func(s *yurt.Session) bool { return s.EndsBy == nil })
		if err != nil {
			k.life.Log.Error("telling the sessions of a node that drains", "node", node.Name, "error", err)
			continue
		}
		if k.guard.noticed[node.Name] = true; told > 0 {
			k.life.Log.Info("node drains", "node", node.Name, "sessions", told)
		}
	}
}

// checkUndrained takes back the notices of a node that no longer drains: the request that ended the drain may not know of all of
// them.
func (k *Keeper) checkUndrained(ctx context.Context, name string) {
	if !k.guard.drained[name] {
		return
	}
	if _, err := k.notices.takeBack(ctx, name, nil); err != nil {
		k.life.Log.Error("telling the sessions of a node that drains no more", "node", name, "error", err)
		return
	}
	delete(k.guard.drained, name)
	delete(k.guard.noticed, name)
}

// checkNotices takes back the notices of sessions whose node does not drain, also if this leader has not seen it drain. The
// sessions of a node are told before it drains, so a notice must be wrong for a while.
func (k *Keeper) checkNotices(ctx context.Context, sessions []yurt.Session) error {
	before, now := k.guard.untrue, k.life.Clock.Now()
	k.guard.untrue = map[string]time.Time{}
	told := slices.ContainsFunc(sessions, func(s yurt.Session) bool { return s.EndsBy != nil })
	if !told {
		return nil
	}
	nodes, err := k.placer.NodeList(ctx)
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	stays := map[string]bool{} // by node
	for _, node := range nodes {
		stays[node.Name] = !node.Draining
	}
	late := map[string]bool{} // nodes with sessions without a notice
	for _, s := range sessions {
		switch {
		case s.EndsBy == nil || !stays[s.Placement.Node]:
		case longSince(before, s.ID, now):
			late[s.Placement.Node] = true
		default:
			k.guard.untrue[s.ID] = firstSeen(before, s.ID, now)
		}
	}
	for name := range late {
		if _, err := k.notices.takeBack(ctx, name, func(s *yurt.Session) bool { return longSince(before, s.ID, now) }); err != nil {
			return err
		}
	}
	return nil
}
