package controller

import (
	"context"
	"slices"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/reach"
)

// CreateSession makes a session and returns it once its sandbox is ready; asked to
// reuse, it returns one that the agent has, if there is one. When the caller leaves before
// that, the wait and the session end, unless an idempotency key or reuse lets the caller find it
// again.
func (c *Controller) CreateSession(ctx context.Context, req CreateSessionRequest) (yurt.Session, error) {
	if err := c.life.Serving(); err != nil {
		return yurt.Session{}, err
	}
	ctx, leave, err := c.creates.enter(ctx)
	if err != nil {
		return yurt.Session{}, err
	}
	defer leave()
	session, template, err := c.newSession(ctx, req)
	if err != nil {
		return yurt.Session{}, err
	}
	create := c.createSession
	if req.Reuse {
		create = c.reuseOrCreate
	}
	session, err = create(ctx, req, session, template)
	if yurt.CodeOf(err) == yurt.CodeCanceled {
		err = whyEnded(ctx)
	}
	return session, err
}

// Sessions lists sessions, newest first, ended ones included while they are kept.
func (c *Controller) Sessions(ctx context.Context, query contract.SessionQuery) ([]yurt.Session, error) {
	if query.State != "" && !slices.Contains(yurt.SessionStates(), query.State) {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "state", "there is no such state; give one of %v", yurt.SessionStates())
	}
	if err := yurt.ValidateMetadata("metadata", query.Metadata); err != nil {
		return nil, err
	}
	return c.store.Sessions(ctx, query)
}

// EndSession ends the session and returns it; its executions end with [yurt.ErrorTypeSessionEnded] and keep their output so far.
// The sandbox is destroyed in the background. A session that has ended is a [yurt.CodeSessionEnded] error.
func (c *Controller) EndSession(ctx context.Context, id string) (yurt.Session, error) {
	if err := c.life.Serving(); err != nil {
		return yurt.Session{}, err
	}
	if err := reach.CheckID(id); err != nil {
		return yurt.Session{}, err
	}
	return c.ledger.end(ctx, id, "ended by its user")
}

// DeleteResults ends the session, if it has not ended, waits until its executions have, and removes these with their results.
func (c *Controller) DeleteResults(ctx context.Context, id string) (yurt.Session, error) {
	session, err := c.EndSession(ctx, id)
	if yurt.CodeOf(err) == yurt.CodeSessionEnded {
		session, err = c.reach.Session(ctx, id)
	}
	if err != nil {
		return yurt.Session{}, err
	}
	running, err := c.store.UnfinishedExecutions(ctx, id)
	if err != nil {
		return yurt.Session{}, err
	}
	for _, e := range running {
		if _, err := c.WaitExecution(ctx, id, e.ID); err != nil {
			return yurt.Session{}, err
		}
	}
	return session, c.store.DeleteResults(ctx, id)
}
