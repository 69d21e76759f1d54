package fleet

import (
	"context"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/life"
)

// notices are what sessions are told about the drain of their node.
type notices struct {
	life      *life.Life
	store     Store
	deadlines *Deadlines
}

// giveNotice sets the latest end of those sessions on a node that which picks, and returns how many these are.
func (n *notices) giveNotice(ctx context.Context, name string, at time.Time, which func(*yurt.Session) bool) (int, error) {
	return n.tell(ctx, name, func(s *yurt.Session) (reason string, tell bool) {
		if !which(s) {
			return "", false
		}
		s.EndsBy = &at
		return "its node " + name + " is drained: the session ends by " + at.Format(time.RFC3339), true
	})
}

// tell changes the sessions on a node, and adds a remark to the story of each session for which change asks for one.
func (n *notices) tell(ctx context.Context, name string, change func(s *yurt.Session) (reason string, tell bool)) (int, error) {
	ctx = access.Systemwide(ctx) // a node has sessions of all tenants
	sessions, err := n.sessionsOn(ctx, name)
	if err != nil {
		return 0, err
	}
	told := 0
	for _, session := range sessions {
		done := false
		changed, err := n.store.ChangeSession(ctx, session.ID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
			if done = false; s.State.Ended() || s.Placement.Node != name {
				return nil, nil
			}
			reason, tell := change(s)
			if done = tell; !tell {
				return nil, nil
			}
			return s.Remark(reason, n.life.Now()), nil
		})
		if err != nil {
			return told, err
		}
		if done {
			told++
			n.deadlines.Arm(changed)
		}
	}
	return told, nil
}

// takeBack withdraws the notices of those sessions on a node that have one and that which picks, and returns how many. A nil
// which picks all.
func (n *notices) takeBack(ctx context.Context, name string, which func(*yurt.Session) bool) (int, error) {
	return n.tell(ctx, name, func(s *yurt.Session) (reason string, tell bool) {
		if s.EndsBy == nil || which != nil && !which(s) {
			return "", false
		}
		s.EndsBy = nil
		return "its node " + name + " is not drained any more", true
	})
}

// sessionsOn lists the live sessions whose sandbox is on the node.
func (n *notices) sessionsOn(ctx context.Context, name string) ([]yurt.Session, error) {
	live, err := n.store.Sessions(ctx, contract.SessionQuery{Live: true})
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
