package controller

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/internal/life"
	"github.com/yurtrun/yurt/controller/internal/optional"
	"github.com/yurtrun/yurt/controller/internal/reach"
)

const (
	placeLimit  = 2 * time.Minute        // for making a sandbox
	firstPoll   = 5 * time.Millisecond   // for a session that another controller is about to make
	storePoll   = 500 * time.Millisecond // the longest time between two looks for it
	maxKeyBytes = 256                    // of an Idempotency-Key
)

// CreateSessionRequest describes a session to make. A nil or empty field takes the template's default.
type CreateSessionRequest struct {
	TemplateID  string
	Mode        yurt.Mode // default persistent
	AgentID     string
	Reuse       bool           // the agent's live session instead of a new one, if it has one
	Timeout     *yurt.Duration // lifetime
	IdleTimeout *yurt.Duration
	Env         map[string]string
	Resources   ResourcesRequest
	Network     *yurt.Network
	Metadata    map[string]string
	SnapshotID  string
	// Files are in its workspace before it is ready. Without any they are not in the hash
	// of an idempotency key, which may be of an older version.
	Files []yurt.SourceFile `json:",omitempty"`

	// IdempotencyKey makes a repeated request answer with the first one's session.
	IdempotencyKey string
}

// ResourcesRequest holds the limits that a session asks for itself.
type ResourcesRequest struct {
	CPU    *float64
	Memory *yurt.Size
	Disk   *yurt.Size
	PIDs   *int

	DiskKind *yurt.DiskKind
	IOWeight *int
	Ulimits  UlimitsRequest
}

// UlimitsRequest holds the limits of each process that a session asks for itself.
type UlimitsRequest struct {
	NoFile *int
	FSize  *yurt.Size
	Stack  *yurt.Size
}

// CreateSession makes a session and returns it once its sandbox is ready; asked to
// reuse, it returns one that the agent has, if there is one. When the caller leaves before
// that, the session is ended, unless an idempotency key or reuse lets the caller find it
// again.
func (c *Controller) CreateSession(ctx context.Context, req CreateSessionRequest) (yurt.Session, error) {
	if err := c.life.Serving(); err != nil {
		return yurt.Session{}, err
	}
	session, template, err := c.newSession(ctx, req)
	if err != nil {
		return yurt.Session{}, err
	}
	if req.Reuse {
		return c.reuseOrCreate(ctx, req, session, template)
	}
	return c.createSession(ctx, req, session, template)
}

// createSession makes the session, unless its idempotency key names one that exists. It returns [ErrReuseTaken] when another
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
	placed := c.beginPlacing(session.ID)
	defer placed()
	first := yurt.Transition{To: yurt.SessionCreating, Reason: session.Reason, At: session.CreatedAt}
	if err := c.store.CreateSession(ctx, session, first, key); err != nil {
		switch {
		case errors.Is(err, ErrKeyTaken):
			existing, _, err := c.sessionOfKey(ctx, *key)
			return existing, err
		case errors.Is(err, ErrReuseTaken):
			return yurt.Session{}, err
		}
		c.failUnplaced(err, session.ID, "it could not be stored")
		return yurt.Session{}, fmt.Errorf("storing the session: %w", err)
	}
	return c.place(ctx, session, template, req.Files, key != nil || session.ReuseKey != "")
}

// newSession validates req and fills in the defaults.
func (c *Controller) newSession(ctx context.Context, req CreateSessionRequest) (yurt.Session, yurt.Template, error) {
	req.TemplateID = cmp.Or(req.TemplateID, yurt.DefaultTemplate)
	if err := validateCreate(req); err != nil {
		return yurt.Session{}, yurt.Template{}, err
	}
	template, err := c.PooledTemplate(ctx, req.TemplateID)
	if err != nil {
		return yurt.Session{}, yurt.Template{}, inField(err, "template_id")
	}
	resources, err := req.Resources.merge(template.Resources)
	if err != nil {
		return yurt.Session{}, yurt.Template{}, err
	}
	defaults := yurt.DefaultSessionLimits()
	if err := fitFiles(req.Files, resources.Disk); err != nil {
		return yurt.Session{}, yurt.Template{}, err
	}
	timeout := optional.Or(req.Timeout, template.Session.Timeout, defaults.Timeout)
	idle := optional.Or(req.IdleTimeout, template.Session.IdleTimeout, defaults.IdleTimeout)
	if err := yurt.ValidateSessionTimeouts(timeout, idle); err != nil {
		return yurt.Session{}, yurt.Template{}, err
	}
	now := c.life.Now()
	return yurt.Session{
		ID: yurt.NewSessionID(), TemplateID: template.Name, Mode: cmp.Or(req.Mode, yurt.ModePersistent),
		State: yurt.SessionCreating, Reason: "asked for", Tenant: access.TenantOf(ctx), AgentID: req.AgentID,
		Metadata: req.Metadata, Env: req.Env, HasFiles: len(req.Files) > 0, Template: template.ForSession(), Resources: resources, Timeout: timeout, IdleTimeout: idle,
		SandboxID: yurt.NewSandboxID(), Owner: c.life.ID, CreatedAt: now, UpdatedAt: now, ActiveAt: now,
	}, template, nil
}

func validateCreate(req CreateSessionRequest) error {
	if err := yurt.ValidateName("template_id", req.TemplateID); err != nil {
		return err
	}
	switch req.Mode {
	case "", yurt.ModeEphemeral, yurt.ModePersistent:
	default:
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "mode", "give %q or %q", yurt.ModeEphemeral, yurt.ModePersistent)
	}
	if req.AgentID != "" {
		if err := yurt.ValidateName("agent_id", req.AgentID); err != nil {
			return err
		}
	}
	if err := validateReuse(req); err != nil {
		return err
	}
	if err := validateAbsent(req); err != nil {
		return err
	}
	if err := validateFiles(req); err != nil {
		return err
	}
	if err := yurt.ValidateEnv("env", req.Env); err != nil {
		return err
	}
	return yurt.ValidateMetadata("metadata", req.Metadata)
}

func validateReuse(req CreateSessionRequest) error {
	switch {
	case req.Reuse && req.AgentID == "":
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "reuse", "it is an agent's session that is reused; give agent_id")
	case req.Reuse && req.Mode == yurt.ModeEphemeral:
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "reuse", "an %s session is used once; give mode %q, or no mode", yurt.ModeEphemeral, yurt.ModePersistent)
	}
	return nil
}

// validateAbsent refuses features that this version does not have.
func validateAbsent(req CreateSessionRequest) error {
	switch {
	case req.SnapshotID != "":
		return yurt.FieldErrorf(yurt.CodeNotSupported, "snapshot_id", "this version has no snapshots; leave the field out")
	case req.Network != nil && !slices.Contains([]yurt.NetworkMode{yurt.NetworkNone, "egress", "bridge", "host"}, req.Network.Mode):
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "network.mode", "there is no such mode; give %q", yurt.NetworkNone)
	case req.Network != nil && req.Network.Mode != yurt.NetworkNone:
		return yurt.FieldErrorf(yurt.CodeNotSupported, "network.mode", "this version has no network but %q for a sandbox", yurt.NetworkNone)
	}
	return nil
}

// merge checks the request and completes it from the template and then from the defaults.
func (r ResourcesRequest) merge(template yurt.Resources) (yurt.Resources, error) {
	var asked yurt.Resources
	err := cmp.Or(
		take("resources.cpu", r.CPU, &asked.CPU),
		take("resources.memory", r.Memory, &asked.Memory),
		take("resources.disk", r.Disk, &asked.Disk),
		take("resources.pids", r.PIDs, &asked.PIDs),
		take("resources.disk_kind", r.DiskKind, &asked.DiskKind),
		take("resources.io_weight", r.IOWeight, &asked.IOWeight),
		take("resources.ulimits.nofile", r.Ulimits.NoFile, &asked.Ulimits.NoFile),
		take("resources.ulimits.fsize", r.Ulimits.FSize, &asked.Ulimits.FSize),
		take("resources.ulimits.stack", r.Ulimits.Stack, &asked.Ulimits.Stack),
	)
	if err != nil {
		return asked, err
	}
	if err := asked.Validate("resources"); err != nil {
		return asked, err
	}
	// Together they may be refused where each alone is not: an image of the template's size.
	all := asked.Or(template).Or(yurt.DefaultResources())
	return all, all.Validate("resources")
}

// take copies a requested limit. The domain reads zero as "the default", so a user cannot ask for zero.
func take[T comparable](field string, asked, into *T) error {
	var zero T
	switch {
	case asked == nil:
		return nil
	case *asked == zero:
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, field, "zero is out of range; leave the field out for the default")
	}
	*into = *asked
	return nil
}

// idempotencyKey ties req's key to the session, or returns nil for a request without a key.
func idempotencyKey(req CreateSessionRequest, sessionID string) (*IdempotencyKey, error) {
	if req.IdempotencyKey == "" {
		return nil, nil
	}
	if len(req.IdempotencyKey) > maxKeyBytes {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "Idempotency-Key", "%d bytes are too long; at most %d are allowed", len(req.IdempotencyKey), maxKeyBytes)
	}
	data, err := json.Marshal(req) // maps marshal sorted: equal requests give equal bytes
	if err != nil {
		return nil, fmt.Errorf("hashing the request: %w", err)
	}
	hash := sha256.Sum256(data)
	return &IdempotencyKey{Key: req.IdempotencyKey, RequestHash: hex.EncodeToString(hash[:]), SessionID: sessionID}, nil
}

// sessionOfKey returns the session that an earlier request with the same key made,
// placed or failed.
func (c *Controller) sessionOfKey(ctx context.Context, key IdempotencyKey) (yurt.Session, bool, error) {
	first, ok, err := c.store.SessionByKey(ctx, key.Key)
	if err != nil || !ok {
		return yurt.Session{}, false, err
	}
	if first.RequestHash != key.RequestHash {
		return yurt.Session{}, true, yurt.FieldErrorf(yurt.CodeIdempotencyConflict, "Idempotency-Key", "the key was used with another request, for session %s; use a new key for a new request", first.SessionID)
	}
	session, err := c.awaitMade(ctx, first.SessionID)
	return session, true, err
}

// awaitMade returns a session that another request makes, here or at another controller,
// once it is made or has failed.
func (c *Controller) awaitMade(ctx context.Context, id string) (yurt.Session, error) {
	if err := c.awaitPlaced(ctx, id); err != nil {
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

// beginPlacing notes that this controller is making the session, so that neither
// sweep nor recovery takes it for one that a crash left behind.
func (c *Controller) beginPlacing(id string) (placed func()) {
	done := make(chan struct{})
	c.mu.Lock()
	c.placing[id] = done
	c.mu.Unlock()
	return func() {
		c.mu.Lock()
		delete(c.placing, id)
		c.mu.Unlock()
		close(done)
	}
}

// Placing reports whether this controller is making the session.
func (c *Controller) Placing(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.placing[id] != nil
}

func (c *Controller) awaitPlaced(ctx context.Context, id string) error {
	c.mu.Lock()
	done := c.placing[id]
	c.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// place finds a sandbox for the session, with the files, and makes it ready.
func (c *Controller) place(ctx context.Context, session yurt.Session, template yurt.Template, files []yurt.SourceFile, findable bool) (yurt.Session, error) {
	work, cancel := life.Detached(ctx, placeLimit)
	defer cancel()
	begin := c.life.Clock.Now()
	spec := session.SandboxSpec(template)
	spec.Files = files
	sandbox, placement, err := c.placer.Place(work, spec, c.hints(work, session))
	if err != nil {
		reason := "no sandbox could be made: " + err.Error()
		if failErr := c.Fail(work, session.ID, reason); failErr != nil {
			c.life.Log.Error("failing a session that could not be placed", "session", session.ID, "error", failErr)
			c.failUnplaced(failErr, session.ID, reason)
		}
		return yurt.Session{}, yurt.OrCode(err, yurt.CodeSandboxFailed, "no sandbox could be made")
	}
	ready, err := c.markReady(work, session.ID, sandbox, placement)
	if err != nil { // ended while it was made
		session.Placement, session.SandboxID = placement, sandbox.ID
		c.tracker.Teardown(session, yurt.ErrorTypeSessionEnded, "")
		c.failUnplaced(err, session.ID, "it could not be stored that its sandbox was ready")
		return yurt.Session{}, err
	}
	c.metrics.sessionCreated(placement.Kind, c.life.Clock.Now().Sub(begin))
	c.life.Log.Info("session ready", "session", ready.ID, "template", ready.TemplateID, "node", placement.Node, "placement", placement.Kind)
	c.deadlines.Arm(ready)
	if ctx.Err() != nil && !findable {
		_, err := c.endSession(work, ready.ID, "the caller left before it was ready")
		return yurt.Session{}, errors.Join(ctx.Err(), err)
	}
	return ready, nil
}

// failUnplaced fails a session that is not going to be placed, once the store is there
// again, because of which that is so.
func (c *Controller) failUnplaced(cause error, id, reason string) {
	c.life.Repair(cause, "a session that could not be placed", id, func(ctx context.Context) error {
		err := c.Fail(ctx, id, reason)
		if yurt.CodeOf(err) == yurt.CodeSessionNotFound {
			return nil // it was not stored either
		}
		return err
	})
}

func (c *Controller) markReady(ctx context.Context, id string, sandbox yurt.Sandbox, placement yurt.Placement) (yurt.Session, error) {
	return c.store.ChangeSession(ctx, id, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		now := c.life.Now()
		change, err := s.Transition(yurt.SessionReady, "its sandbox is ready", now)
		if err != nil {
			return nil, err
		}
		s.SandboxID, s.Placement, s.ActiveAt, s.Owner = sandbox.ID, placement, now, ""
		return []yurt.Transition{change}, nil
	})
}

// Sessions lists sessions, newest first, ended ones included while they are kept.
func (c *Controller) Sessions(ctx context.Context, query SessionQuery) ([]yurt.Session, error) {
	if query.State != "" && !slices.Contains(yurt.SessionStates(), query.State) {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "state", "there is no such state; give one of %v", yurt.SessionStates())
	}
	if err := yurt.ValidateMetadata("metadata", query.Metadata); err != nil {
		return nil, err
	}
	return c.store.Sessions(ctx, query)
}

// Transitions returns the story of a session, oldest first.
func (c *Controller) Transitions(ctx context.Context, id string) ([]yurt.Transition, error) {
	if _, err := c.reach.Session(ctx, id); err != nil {
		return nil, err
	}
	return c.store.Transitions(ctx, id)
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
	return c.endSession(ctx, id, "ended by its user")
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

func (c *Controller) endSession(ctx context.Context, id, reason string) (yurt.Session, error) {
	session, err := c.store.ChangeSession(ctx, id, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		change, err := s.Transition(yurt.SessionTerminated, reason, c.life.Now())
		return []yurt.Transition{change}, err
	})
	if err != nil {
		return yurt.Session{}, err
	}
	c.life.Log.Info("session ended", "session", id, "reason", reason)
	c.tracker.Teardown(session, yurt.ErrorTypeSessionEnded, "the session ended while it ran: "+reason)
	return session, nil
}

// Fail ends the session as failed, unless it has ended already, and clears
// up after it.
func (c *Controller) Fail(ctx context.Context, id, reason string) error {
	return c.FailIf(ctx, id, reason, func(*yurt.Session) bool { return true })
}

// FailIf does so only when holds still says so.
func (c *Controller) FailIf(ctx context.Context, id, reason string, holds func(*yurt.Session) bool) error {
	failed := false
	session, err := c.store.ChangeSession(ctx, id, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		if failed = !s.State.Ended() && holds(s); !failed {
			return nil, nil
		}
		change, err := s.Transition(yurt.SessionFailed, reason, c.life.Now())
		return []yurt.Transition{change}, err
	})
	if err != nil || !failed {
		return err
	}
	c.life.Log.Warn("session failed", "session", id, "reason", reason)
	c.tracker.Teardown(session, yurt.ErrorTypeSandboxLost, reason)
	return nil
}

// inField says of which field of the input a coded error is.
func inField(err error, field string) error {
	var coded *yurt.Error
	if errors.As(err, &coded) && coded.Code != yurt.CodeUnavailable { // which is no fault of the field's
		return yurt.FieldErrorf(coded.Code, field, "%s", coded.Message)
	}
	return err
}
