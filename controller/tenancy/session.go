package tenancy

import (
	"cmp"
	"context"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/record"
)

// CreateSession implements contract.SessionStore.
func (d *divided) CreateSession(ctx context.Context, s yurt.Session, first yurt.Transition, key *contract.IdempotencyKey) error {
	tenant, all, err := reach(ctx)
	switch {
	case err != nil:
		return err
	case bound(ctx) != "":
		return free(ctx)
	case !all && s.Tenant != tenant:
		return yurt.Errorf(yurt.CodeForbidden, "a session belongs to the tenant of its caller")
	}
	if key != nil {
		kept := *key
		kept.Key = qualified(s.Tenant, key.Key)
		key = &kept
	}
	return d.all.CreateSession(ctx, s, first, key)
}

// qualified tells the names of tenants apart. The operator's stay as they were before there were tenants.
func qualified(tenant, name string) string {
	if tenant == access.DefaultTenant {
		return name
	}
	return tenant + separator + name
}

// separator is in no name of a template, and in no name of a tenant.
const separator = "/"

// SessionByKey implements contract.SessionStore.
func (d *divided) SessionByKey(ctx context.Context, key string) (contract.IdempotencyKey, bool, error) {
	tenant, _, err := reach(ctx)
	if err != nil {
		return contract.IdempotencyKey{}, false, err
	}
	found, ok, err := d.all.SessionByKey(ctx, qualified(tenant, key))
	if err != nil || !ok {
		return contract.IdempotencyKey{}, false, err
	}
	switch err := d.owned(ctx, found.SessionID); {
	case yurt.CodeOf(err) == yurt.CodeSessionNotFound: // a key of the operator's that looks like another tenant's
		return contract.IdempotencyKey{}, false, nil
	case err != nil:
		return contract.IdempotencyKey{}, false, err
	}
	found.Key = key
	return found, true, nil
}

// Session implements contract.SessionStore.
func (d *divided) Session(ctx context.Context, id string) (yurt.Session, error) {
	tenant, all, err := reach(ctx)
	if err != nil {
		return yurt.Session{}, err
	}
	s, err := d.all.Session(ctx, id)
	if err == nil && !all && (s.Tenant != tenant || beyond(ctx, id)) {
		return yurt.Session{}, record.SessionNotFound(id)
	}
	return s, err
}

// Sessions implements contract.SessionStore.
func (d *divided) Sessions(ctx context.Context, query contract.SessionQuery) ([]yurt.Session, error) {
	tenant, all, err := reach(ctx)
	if err != nil {
		return nil, err
	}
	if !all {
		query.Tenant = tenant
		query.IDPrefix = cmp.Or(bound(ctx), query.IDPrefix)
	}
	return d.all.Sessions(ctx, query)
}

// ChangeSession implements contract.SessionStore.
func (d *divided) ChangeSession(ctx context.Context, id string, change contract.SessionChange) (yurt.Session, error) {
	change, err := own(ctx, change)
	if err != nil {
		return yurt.Session{}, err
	}
	return d.all.ChangeSession(ctx, id, change)
}

// Transitions implements contract.SessionStore.
func (d *divided) Transitions(ctx context.Context, id string, after int) ([]yurt.Transition, error) {
	if err := d.owned(ctx, id); err != nil {
		return nil, err
	}
	return d.all.Transitions(ctx, id, after)
}

// CountSessions implements contract.SessionStore.
func (d *divided) CountSessions(ctx context.Context) (map[yurt.SessionState]int, error) {
	if err := system(ctx); err != nil {
		return nil, err
	}
	return d.all.CountSessions(ctx)
}

// ExpiredSessions implements contract.ExpiryStore.
func (d *divided) ExpiredSessions(ctx context.Context, now time.Time, limit int) ([]yurt.Session, error) {
	if err := system(ctx); err != nil {
		return nil, err
	}
	return d.all.ExpiredSessions(ctx, now, limit)
}

// NextExpiry implements contract.ExpiryStore.
func (d *divided) NextExpiry(ctx context.Context) (time.Time, error) {
	if err := system(ctx); err != nil {
		return time.Time{}, err
	}
	return d.all.NextExpiry(ctx)
}

// PurgeSessions implements contract.ExpiryStore.
func (d *divided) PurgeSessions(ctx context.Context, endedBefore time.Time) (int, error) {
	if err := system(ctx); err != nil {
		return 0, err
	}
	return d.all.PurgeSessions(ctx, endedBefore)
}
