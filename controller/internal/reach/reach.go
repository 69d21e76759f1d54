// Package reach finds the node that a session's sandbox is on, and tells callers that came too late that the session has ended.
package reach

import (
	"context"
	"fmt"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

// touchShare of a session's idle timeout may pass before another use is recorded,
// so that many small uses do not each write to the store.
const touchShare = 20

// NodePoll is the pause between two looks of the leader at which nodes are there, and drain. A session on a lost node fails then.
const NodePoll = 2 * time.Second

// Store is the part of a store that knows sessions.
type Store interface {
	Session(ctx context.Context, id string) (yurt.Session, error)
	ChangeSession(ctx context.Context, id string, change contract.SessionChange) (yurt.Session, error)
}

// Nodes knows the nodes.
type Nodes interface {
	// Node returns the node of that name.
	Node(ctx context.Context, name string) (contract.Node, error)
}

// Reach leads from a session to its sandbox. Its methods may be called concurrently.
type Reach struct {
	store Store
	nodes Nodes
	now   func() time.Time
}

// New returns a Reach over the sessions of a store. now is the time that records carry.
func New(store Store, nodes Nodes, now func() time.Time) *Reach {
	return &Reach{store: store, nodes: nodes, now: now}
}

// Session returns one session. It spares the store text that cannot be a session's id.
func (r *Reach) Session(ctx context.Context, id string) (yurt.Session, error) {
	if err := CheckID(id); err != nil {
		return yurt.Session{}, err
	}
	return r.store.Session(ctx, id)
}

// CheckID refuses text that cannot be a session's id.
func CheckID(id string) error {
	if !yurt.ValidID(yurt.SessionIDPrefix, id) {
		return yurt.Errorf(yurt.CodeSessionNotFound, "there is no such session; ids look like %sab12…", yurt.SessionIDPrefix)
	}
	return nil
}

// Node returns the node of a session. For the caller a lost node is a part that is away, not an unknown name: the leader fails the
// session in a moment.
func (r *Reach) Node(ctx context.Context, session yurt.Session) (contract.Node, error) {
	node, err := r.nodes.Node(ctx, session.Placement.Node)
	if yurt.CodeOf(err) == yurt.CodeNotFound {
		lost := yurt.Errorf(yurt.CodeUnavailable, "session %s is about to fail: %w", session.ID, err)
		lost.RetryAfter = NodePoll
		return nil, lost
	}
	if err != nil {
		return nil, fmt.Errorf("reaching the session's node: %w", err)
	}
	return node, nil
}

// Use returns the session, whose sandbox must be there, and its node, and
// notes that the session is not idle.
func (r *Reach) Use(ctx context.Context, sessionID string) (yurt.Session, contract.Node, error) {
	session, err := r.Session(ctx, sessionID)
	if err != nil {
		return yurt.Session{}, nil, err
	}
	if err := session.HasSandbox(); err != nil {
		return yurt.Session{}, nil, err
	}
	now := r.now()
	if now.Sub(session.ActiveAt) > session.IdleTimeout.Std()/touchShare {
		if session, err = r.touch(ctx, sessionID, now); err != nil {
			return yurt.Session{}, nil, err
		}
	}
	node, err := r.Node(ctx, session)
	if err != nil {
		return yurt.Session{}, nil, err
	}
	return session, node, nil
}

func (r *Reach) touch(ctx context.Context, sessionID string, now time.Time) (yurt.Session, error) {
	return r.store.ChangeSession(ctx, sessionID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		if err := s.HasSandbox(); err != nil {
			return nil, err
		}
		s.ActiveAt = now
		return nil, nil
	})
}
