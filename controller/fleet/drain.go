package fleet

import (
	"context"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/optional"
)

const (
	// DefaultDrainGrace is how long the sessions of a node that drains may go on.
	DefaultDrainGrace = 5 * time.Minute
	maxDrainGrace     = 24 * time.Hour
)

// DrainNode has a node take no new sandboxes, and ends its sessions once the grace is over; nil is [DefaultDrainGrace]. Their
// stories say so at once. A repeated request may shorten the grace of the present ones.
func (n *Nodes) DrainNode(ctx context.Context, name string, grace *yurt.Duration) (yurt.Drain, error) {
	length := optional.Or(grace, yurt.Duration(DefaultDrainGrace))
	if grace != nil && (length < 0 || length.Std() > maxDrainGrace) {
		return yurt.Drain{}, yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "grace", "%s is out of range; give 0s to %s", length, yurt.Duration(maxDrainGrace))
	}
	node, err := n.drainable(ctx, name)
	if err != nil {
		return yurt.Drain{}, err
	}
	at := n.life.Now().Add(length.Std())
	later := func(s *yurt.Session) bool { return s.EndsBy == nil || s.EndsBy.After(at) }
	// Once before the node drains, so that its sessions have this grace and no other; and once after it, for those that it took
	// last.
	before, err := n.notices.giveNotice(ctx, name, at, later)
	if err == nil {
		err = node.SetDraining(ctx, true)
	}
	if err != nil {
		return yurt.Drain{}, err
	}
	after, err := n.notices.giveNotice(ctx, name, at, later)
	n.life.Log.Info("node drains", "node", name, "sessions", before+after, "grace", length)
	return yurt.Drain{Node: name, Draining: true, Sessions: before + after, EndsBy: &at}, err
}

// UndrainNode has a node take sessions again, and lets those go on that are there.
func (n *Nodes) UndrainNode(ctx context.Context, name string) (yurt.Drain, error) {
	node, err := n.drainable(ctx, name)
	if err != nil {
		return yurt.Drain{}, err
	}
	if err := node.SetDraining(ctx, false); err != nil {
		return yurt.Drain{}, err
	}
	told, err := n.notices.takeBack(ctx, name, nil)
	n.life.Log.Info("node drains no more", "node", name, "sessions", told)
	return yurt.Drain{Node: name, Sessions: told}, err
}

func (n *Nodes) drainable(ctx context.Context, name string) (contract.Node, error) {
	if err := n.life.Serving(); err != nil {
		return nil, err
	}
	if err := yurt.ValidateName("node", name); err != nil {
		return nil, err
	}
	node, err := n.placer.Node(ctx, name)
	if yurt.CodeOf(err) == yurt.CodeNotFound {
		return nil, noSuchNode(ctx, n.placer, name)
	}
	return node, err
}
