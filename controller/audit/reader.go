package audit

import (
	"context"
	"slices"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/auth"
)

// Everyone in place of a tenant's name means the entries of all tenants.
const Everyone = "*"

// List lists entries, newest first: those of the caller's tenant. The operator sees those of all tenants, and of callers that are
// not known, or names one tenant.
func (l *Log) List(ctx context.Context, tenant string, query Query) ([]Entry, error) {
	caller, err := access.Caller(ctx)
	if err != nil {
		return nil, err
	}
	query.Reach = auth.ReachOf(caller)
	switch {
	case caller.Operates() && (tenant == "" || tenant == Everyone):
		query.Reach = auth.Everywhere()
	case caller.Operates():
		query.Reach = auth.Tenant(tenant)
	case tenant != "" && tenant != caller.Tenant:
		return nil, yurt.FieldErrorf(yurt.CodeForbidden, "tenant", "your key lists the entries of the tenant %s alone; leave the field out", caller.Tenant)
	}
	if query.Decision != "" && !slices.Contains(access.Decisions(), query.Decision) {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "decision", "there is no decision %.40q; give one of %s", query.Decision, access.DecisionNames())
	}
	l.settle(ctx)
	return l.store.Entries(ctx, query)
}

// settle waits until the entries so far are written, and for a moment if the store does not take them: a caller sees its own last change.
func (l *Log) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readPause)
	defer cancel()
	done := make(chan struct{})
	select {
	case l.asked <- done:
	case <-ctx.Done():
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}
