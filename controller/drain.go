package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/internal/optional"
)

const (
	// DefaultDrainGrace is how long the sessions of a node that drains may go on.
	DefaultDrainGrace = 5 * time.Minute
	maxDrainGrace     = 24 * time.Hour
)

// DrainNode has a node take no new sandboxes, and ends its sessions once the grace is over; nil is [DefaultDrainGrace]. Their
// stories say so at once. A repeated request may shorten the grace of the present ones.
func (c *Controller) DrainNode(ctx context.Context, name string, grace *yurt.Duration) (yurt.Drain, error) {
	length := optional.Or(grace, yurt.Duration(DefaultDrainGrace))
	if grace != nil && (length < 0 || length.Std() > maxDrainGrace) {
		return yurt.Drain{}, yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "grace", "%s is out of range; give 0s to %s", length, yurt.Duration(maxDrainGrace))
	}
	node, err := c.drainable(ctx, name)
	if err != nil {
		return yurt.Drain{}, err
	}
	at := c.life.Now().Add(length.Std())
	later := func(s *yurt.Session) bool { return s.EndsBy == nil || s.EndsBy.After(at) }
	// Once before the node drains, so that its sessions have this grace and no other; and once after it, for those that it took
	// last.
	before, err := c.giveNotice(ctx, name, at, later)
	if err == nil {
		err = node.SetDraining(ctx, true)
	}
	if err != nil {
		return yurt.Drain{}, err
	}
	after, err := c.giveNotice(ctx, name, at, later)
	c.life.Log.Info("node drains", "node", name, "sessions", before+after, "grace", length)
	return yurt.Drain{Node: name, Draining: true, Sessions: before + after, EndsBy: &at}, err
}

// UndrainNode has a node take sessions again, and lets those go on that are there.
func (c *Controller) UndrainNode(ctx context.Context, name string) (yurt.Drain, error) {
	node, err := c.drainable(ctx, name)
	if err != nil {
		return yurt.Drain{}, err
	}
	if err := node.SetDraining(ctx, false); err != nil {
		return yurt.Drain{}, err
	}
	told, err := c.takeBack(ctx, name, nil)
	c.life.Log.Info("node drains no more", "node", name, "sessions", told)
	return yurt.Drain{Node: name, Sessions: told}, err
}

// takeBack withdraws the notices of those sessions on a node that have one and that which picks, and returns how many. A nil
// which picks all.
func (c *Controller) takeBack(ctx context.Context, name string, which func(*yurt.Session) bool) (int, error) {
	return c.tell(ctx, name, func(s *yurt.Session) (reason string, tell bool) {
		if s.EndsBy == nil || which != nil && !which(s) {
			return "", false
		}
		s.EndsBy = nil
		return "its node " + name + " is not drained any more", true
	})
}

func (c *Controller) drainable(ctx context.Context, name string) (Node, error) {
	if err := c.life.Serving(); err != nil {
		return nil, err
	}
	if err := yurt.ValidateName("node", name); err != nil {
		return nil, err
	}
	node, err := c.placer.Node(ctx, name)
	if yurt.CodeOf(err) == yurt.CodeNotFound {
		return nil, noSuchNode(ctx, c.placer, name)
	}
	return node, err
}

// giveNotice sets the latest end of those sessions on a node that which picks, and returns how many these are.
func (c *Controller) giveNotice(ctx context.Context, name string, at time.Time, which func(*yurt.Session) bool) (int, error) {
	return c.tell(ctx, name, func(s *yurt.Session) (reason string, tell bool) {
		if !which(s) {
			return "", false
		}
		s.EndsBy = &at
		return "its node " + name + " is drained: the session ends by " + at.Format(time.RFC3339), true
	})
}

// tell changes the sessions on a node, and adds a remark to the story of each session for which change asks for one.
func (c *Controller) tell(ctx context.Context, name string, change func(s *yurt.Session) (reason string, tell bool)) (int, error) {
	ctx = access.Systemwide(ctx) // a node has sessions of all tenants
	sessions, err := c.sessionsOn(ctx, name)
	if err != nil {
		return 0, err
	}
	told := 0
	for _, session := range sessions {
		done := false
		changed, err := c.store.ChangeSession(ctx, session.ID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
			if done = false; s.State.Ended() || s.Placement.Node != name {
				return nil, nil
			}
			reason, tell := change(s)
			if done = tell; !tell {
				return nil, nil
			}
			return s.Remark(reason, c.life.Now()), nil
		})
		if err != nil {
			return told, err
		}
		if done {
			told++
			c.reaper.Arm(changed)
		}
	}
	return told, nil
}

// checkDraining gives notice to the sessions on nodes that another party drained, and to sessions that were placed on
// a draining node in the last moment.
func (c *Controller) checkDraining(ctx context.Context) {
	nodes, err := c.placer.NodeList(ctx)
	if err != nil {
		c.life.Log.Error("listing nodes", "error", err)
		return
	}
	for _, node := range nodes {
		if !node.Draining {
			c.checkUndrained(ctx, node.Name)
			continue
		}
		c.guard.drained[node.Name] = true
		if c.guard.noticed[node.Name] {
			continue
		}
		at := c.life.Now().Add(DefaultDrainGrace)
		if node.EndsBy != nil {
			at = node.EndsBy.UTC()
		}
		told, err := c.giveNotice(ctx, node.Name, at, func(s *yurt.Session) bool { return s.EndsBy == nil })
		if err != nil {
			c.life.Log.Error("telling the sessions of a node that drains", "node", node.Name, "error", err)
			continue
		}
		if c.guard.noticed[node.Name] = true; told > 0 {
			c.life.Log.Info("node drains", "node", node.Name, "sessions", told)
		}
	}
}

// checkUndrained takes back the notices of a node that no longer drains: the request that ended the drain may not know of all of
// them.
func (c *Controller) checkUndrained(ctx context.Context, name string) {
	if !c.guard.drained[name] {
		return
	}
	if _, err := c.takeBack(ctx, name, nil); err != nil {
		c.life.Log.Error("telling the sessions of a node that drains no more", "node", name, "error", err)
		return
	}
	delete(c.guard.drained, name)
	delete(c.guard.noticed, name)
}

// checkNotices takes back the notices of sessions whose node does not drain, also if this leader has not seen it drain. The
// sessions of a node are told before it drains, so a notice must be wrong for a while.
func (c *Controller) checkNotices(ctx context.Context, sessions []yurt.Session) error {
	before, now := c.guard.untrue, c.life.Clock.Now()
	c.guard.untrue = map[string]time.Time{}
	told := slices.ContainsFunc(sessions, func(s yurt.Session) bool { return s.EndsBy != nil })
	if !told {
		return nil
	}
	nodes, err := c.placer.NodeList(ctx)
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
			c.guard.untrue[s.ID] = firstSeen(before, s.ID, now)
		}
	}
	for name := range late {
		if _, err := c.takeBack(ctx, name, func(s *yurt.Session) bool { return longSince(before, s.ID, now) }); err != nil {
			return err
		}
	}
	return nil
}
