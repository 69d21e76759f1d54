package tenancy

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/record"
	"github.com/yurtrun/yurt/controller/lease"
)

// maxKnown is how many sessions are remembered with their tenants.
const maxKnown = 10000

// divided is a store that each caller sees its part of.
type divided struct {
	all   contract.Store
	ended EndedFunc
	admit AdmitFunc

	mu    sync.Mutex
	known map[string]string // tenants of sessions, which never change
}

// EndedFunc is told of each execution whose result was stored, by its id, with its session after that. It must be quick.
type EndedFunc func(session yurt.Session, id string, result *yurt.Result)

// Option changes how a divided store works.
type Option func(*divided)

// WithEnded has a function told of executions that end.
func WithEnded(ended EndedFunc) Option { return func(d *divided) { d.ended = ended } }

// AdmitFunc returns nil when a tenant may begin another execution.
type AdmitFunc func(ctx context.Context, tenant string) error

// WithAdmission has a function asked before each execution of a tenant.
func WithAdmission(admit AdmitFunc) Option { return func(d *divided) { d.admit = admit } }

// Of returns the store divided among tenants. The result has the optional methods that the store has.
func Of(store contract.Store, options ...Option) contract.Store {
	d := &divided{
		all: store, known: map[string]string{},
		ended: func(yurt.Session, string, *yurt.Result) {},
		admit: func(context.Context, string) error { return nil },
	}
	for _, option := range options {
		option(d)
	}
	type collected interface{ prometheus.Collector }
	switch s := store.(type) {
	case interface {
		lease.Store
		contract.ClockStore
		prometheus.Collector
	}:
		return struct {
			*divided
			lease.Store
			contract.ClockStore
			collected
		}{d, s, s, s}
	case interface {
		contract.ShrinkStore
		prometheus.Collector
	}:
		return struct {
			*divided
			contract.ShrinkStore
			collected
		}{d, s, s}
	default:
		return d
	}
}

// reach returns the tenant whose records the caller of a context reaches; all is true for the server itself.
func reach(ctx context.Context) (tenant string, all bool, _ error) {
	caller, err := access.Caller(ctx)
	if err != nil {
		return "", false, err
	}
	return caller.Tenant, caller.Everywhere(), nil
}

// system refuses every caller but the server itself.
func system(ctx context.Context) error {
	_, all, err := reach(ctx)
	if err == nil && !all {
		err = yurt.Errorf(yurt.CodeForbidden, "the server alone may do this")
	}
	return err
}

// bound returns the one session that the caller of a context reaches; it is empty for a caller without a session token.
func bound(ctx context.Context) string {
	if caller, ok := access.From(ctx); ok {
		return caller.Session
	}
	return ""
}

// beyond reports whether a session is another one than that of the caller's session token.
func beyond(ctx context.Context, sessionID string) bool {
	own := bound(ctx)
	return own != "" && own != sessionID
}

// free refuses callers with a session token: they make no records beside their session.
func free(ctx context.Context) error {
	if bound(ctx) != "" {
		return yurt.Errorf(yurt.CodeForbidden, "a session token is for its session alone; use an API key for this")
	}
	return nil
}

// owned returns nil when the caller reaches a session.
func (d *divided) owned(ctx context.Context, sessionID string) error {
	tenant, all, err := reach(ctx)
	if err != nil || all {
		return err
	}
	if beyond(ctx, sessionID) {
		return record.SessionNotFound(sessionID)
	}
	d.mu.Lock()
	owner, known := d.known[sessionID]
	d.mu.Unlock()
	if !known {
		session, err := d.all.Session(ctx, sessionID)
		if err != nil {
			return err
		}
		owner = session.Tenant
		d.remember(session)
	}
	if owner != tenant {
		return record.SessionNotFound(sessionID)
	}
	return nil
}

func (d *divided) remember(s yurt.Session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) >= maxKnown {
		clear(d.known)
	}
	d.known[s.ID] = s.Tenant
}

// own returns a change that sessions of other tenants refuse, inside the transaction.
func own(ctx context.Context, change contract.SessionChange) (contract.SessionChange, error) {
	tenant, all, err := reach(ctx)
	if err != nil || all {
		return change, err
	}
	return func(s *yurt.Session, running int) ([]yurt.Transition, error) {
		if s.Tenant != tenant || beyond(ctx, s.ID) {
			return nil, record.SessionNotFound(s.ID)
		}
		return change(s, running)
	}, nil
}

// Ping implements contract.Store.
func (d *divided) Ping(ctx context.Context) error { return d.all.Ping(ctx) }
