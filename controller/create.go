package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/life"
	"github.com/yurtrun/yurt/internal/tracing"
)

const (
	placeLimit = 2 * time.Minute        // for making a sandbox
	firstPoll  = 5 * time.Millisecond   // for a session that another controller is about to make
	storePoll  = 500 * time.Millisecond // the longest time between two looks for it
)

// createSession makes the session, unless its idempotency key names one that exists. It returns [contract.ErrReuseTaken] when another
// live session is the one to reuse.
func (c *Controller) createSession(ctx context.Context, req CreateSessionRequest, session yurt.Session, template yurt.Template) (yurt.Session, error) {
	key, err := idempotencyKey(req, session.ID)
	if err != nil {
		return yurt.Session{}, err
	}
	if key != nil {
		if first, found, err := c.sessionOfKey(ctx, *key); found || err != nil {
			return first, err
		}
	}
	placed := c.ledger.begin(session.ID)
	defer placed()
	first := yurt.Transition{To: yurt.SessionCreating, Reason: session.Reason, At: session.CreatedAt}
	if err := c.storeCreate(ctx, session, first, key); err != nil {
		switch {
		case errors.Is(err, contract.ErrKeyTaken):
			existing, found, err := c.sessionOfKey(ctx, *key)
			if err == nil && !found {
				err = errKeyFreed()
			}
			return existing, err
		case errors.Is(err, contract.ErrReuseTaken):
			return yurt.Session{}, err
		}
		c.ledger.failUnplaced(err, session.ID, "it could not be stored")
		return yurt.Session{}, fmt.Errorf("storing the session: %w", err)
	}
	return c.place(ctx, session, template, req.Files, key != nil || session.ReuseKey != "")
}

// storeCreate stores a new session once it is its tenant's turn: a store carries out changes one after the other, and a crowd of creates
// would delay those of others.
func (c *Controller) storeCreate(ctx context.Context, session yurt.Session, first yurt.Transition, key *contract.IdempotencyKey) error {
	ctx, span := tracing.Start(ctx, "store")
	leave, err := c.storing.Enter(ctx, session.Tenant, false)
	if err == nil {
		defer leave()
		err = c.store.CreateSession(ctx, session, first, key)
	}
	tracing.End(span, err)
	return err
}

// sessionOfKey returns the session that an earlier request with the same key made.
func (c *Controller) sessionOfKey(ctx context.Context, key contract.IdempotencyKey) (yurt.Session, bool, error) {
	first, ok, err := c.store.SessionByKey(ctx, key.Key)
	if err != nil || !ok {
		return yurt.Session{}, false, err
	}
	if first.RequestHash != key.RequestHash {
		return yurt.Session{}, true, yurt.FieldErrorf(yurt.CodeIdempotencyConflict, "Idempotency-Key", "the key was used with another request, for session %s; use a new key for a new request", first.SessionID)
	}
	session, err := c.awaitMade(ctx, first.SessionID)
	if err == nil && session.State.Ended() {
		err = c.keepsKey(ctx, first)
	}
	return session, true, err
}

// keepsKey returns an error where a session has ended before it was ready, and so has lost its key.
func (c *Controller) keepsKey(ctx context.Context, key contract.IdempotencyKey) error {
	now, found, err := c.store.SessionByKey(ctx, key.Key)
	if err == nil && (!found || now.SessionID != key.SessionID) {
		err = errKeyFreed()
	}
	return err
}

// errKeyFreed is the error of a request that waited for the session of another one with the same key.
func errKeyFreed() error {
	return yurt.Errorf(yurt.CodeUnavailable, "the first request with this Idempotency-Key failed, and its session has ended; send the request again with the same key")
}

// awaitMade returns a session that another request makes, here or at another controller,
// once it is made or has failed.
func (c *Controller) awaitMade(ctx context.Context, id string) (yurt.Session, error) {
	if err := c.ledger.await(ctx, id); err != nil {
		return yurt.Session{}, err
	}
	for pause := firstPoll; ; pause = min(2*pause, storePoll) {
		session, err := c.store.Session(ctx, id)
		if err != nil || session.State != yurt.SessionCreating || session.Owner == c.life.ID {
			return session, err
		}
		life.Sleep(ctx, pause) // another controller makes it
		if ctx.Err() != nil {
			return yurt.Session{}, ctx.Err()
		}
	}
}

// place finds a sandbox for the session, with the files, and makes it ready.
func (c *Controller) place(ctx context.Context, session yurt.Session, template yurt.Template, files []yurt.SourceFile, findable bool) (yurt.Session, error) {
	work, cancel := life.Detached(ctx, placeLimit)
	defer cancel()
	begin := c.life.Clock.Now()
	spec := session.SandboxSpec(template)
	spec.Files = files
	until := ctx // for so long is a sandbox waited for
	if findable {
		until = c.creates.stopping
	}
	sandbox, placement, err := c.findSandbox(work, until, session, spec)
	if err != nil && until.Err() != nil {
		return yurt.Session{}, c.giveUp(work, session.ID, whyEnded(until))
	}
	if err != nil {
		reason := "no sandbox could be made: " + err.Error()
		if failErr := c.ledger.Fail(work, session.ID, reason); failErr != nil {
			c.life.Log.Error("failing a session that could not be placed", "session", session.ID, "error", failErr)
			c.ledger.failUnplaced(failErr, session.ID, reason)
		}
		return yurt.Session{}, yurt.OrCode(err, yurt.CodeSandboxFailed, "no sandbox could be made")
	}
	ready, err := c.ledger.ready(work, session.ID, sandbox, placement)
	if err != nil { // ended while it was made
		session.Placement, session.SandboxID = placement, sandbox.ID
		c.tracker.Teardown(session, yurt.ErrorTypeSessionEnded, "")
		c.ledger.failUnplaced(err, session.ID, "it could not be stored that its sandbox was ready")
		return yurt.Session{}, err
	}
	c.metrics.sessionCreated(placement.Kind, c.life.Clock.Now().Sub(begin))
	c.life.Log.InfoContext(ctx, "session ready", "session", ready.ID, "template", ready.TemplateID, "node", placement.Node, "placement", placement.Kind)
	c.deadlines.Arm(ready)
	if until.Err() != nil {
		return yurt.Session{}, c.giveUp(work, ready.ID, whyEnded(until))
	}
	return ready, nil
}

// giveUp ends a session whose create does not wait for its sandbox any more. It returns the cause.
func (c *Controller) giveUp(ctx context.Context, id string, cause error) error {
	reason := "the caller left before it was ready"
	if errors.Is(cause, context.Cause(c.creates.stopping)) {
		reason = "the controller stopped before it was ready"
	}
	_, err := c.ledger.end(ctx, id, reason)
	if err != nil && yurt.CodeOf(err) != yurt.CodeSessionEnded {
		c.life.Log.Error("ending a session without a caller", "session", id, "error", err)
		c.ledger.failUnplaced(err, id, reason)
	}
	return cause
}

// findSandbox has a sandbox made, or found, for a session, unless the wait ends before.
func (c *Controller) findSandbox(ctx, until context.Context, session yurt.Session, spec yurt.SandboxSpec) (yurt.Sandbox, yurt.Placement, error) {
	ctx, span := tracing.Start(ctx, "place", attribute.String("yurt.session", session.ID), attribute.String("yurt.template", spec.Template.Name))
	ctx, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(until, end)()
	sandbox, placement, err := c.placer.Place(ctx, spec, hints(ctx, c.store, c.life.Log, session))
	span.SetAttributes(attribute.String("yurt.placement", string(placement.Kind)), attribute.String("yurt.node", placement.Node))
	tracing.End(span, err)
	return sandbox, placement, err
}
