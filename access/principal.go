package access

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
)

// DefaultTenant is the operator's tenant. It has all sessions of a server without keys. A key of this tenant with the scope
// [Admin] manages the keys of every tenant.
const DefaultTenant = "default"

// maxTenantBytes bounds the name of a tenant, which is part of names of templates on nodes.
const maxTenantBytes = 40

// CheckTenant refuses text that is no name of a tenant: lower-case letters, digits and hyphens.
func CheckTenant(field, name string) error {
	if name == "" || len(name) > maxTenantBytes || strings.HasPrefix(name, "-") || strings.ContainsFunc(name, notTenantRune) {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, field,
			"a tenant's name has 1 to %d lower-case letters, digits and hyphens, and begins with no hyphen; give one such as acme-2", maxTenantBytes)
	}
	return nil
}

func notTenantRune(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
}

// Principal is the caller of a request. It does not change.
type Principal struct {
	Tenant string
	KeyID  string // of the API key; empty on a server without keys, and for a token of an issuer
	// Subject is the name that an issuer of OpenID Connect gives the caller; empty for the holder of an API key.
	Subject string
	Scopes  []Scope
	// Session is the one session that the holder of a session token reaches; empty for an API key.
	Session string
	Expires *time.Time // when the key or token ends by itself; nil for never
	// Live ends when the principal may do no more, with the reason as its cause: the key was revoked or has expired.
	// It is nil on a server without keys.
	Live context.Context //nolint:containedctx // it is the life of the principal, not of a call

	everywhere bool // it is the server itself
}

// Local is the caller of a server without keys. It may do everything.
func Local() *Principal { return &Principal{Tenant: DefaultTenant, Scopes: []Scope{Admin}} }

// Systemwide returns the context of work that the server does for all tenants: it reaches the records of each.
func Systemwide(ctx context.Context) context.Context {
	return context.WithValue(ctx, principalKey{}, &Principal{Tenant: DefaultTenant, Scopes: []Scope{Admin}, everywhere: true})
}

// OfTenant returns the context of work that the server does for one tenant, by names that this tenant gave.
func OfTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, principalKey{}, &Principal{Tenant: tenant})
}

// Identity tells the callers of a server apart: the id of the API key, or the subject of an issuer's token. It is empty on a server
// without keys.
func (p *Principal) Identity() string {
	if p.Subject != "" {
		return "sub:" + p.Subject
	}
	return p.KeyID
}

// Everywhere reports whether the principal is the server itself, which reaches the records of all tenants.
func (p *Principal) Everywhere() bool { return p.everywhere }

// TenantOf returns the tenant of the caller of a context: the operator's when there is no caller.
func TenantOf(ctx context.Context) string {
	if p, ok := From(ctx); ok {
		return p.Tenant
	}
	return DefaultTenant
}

// May reports whether the principal has a scope. Warm pools and nodes belong to the operator's tenant alone.
func (p *Principal) May(scope Scope) bool {
	if (scope == Pools || scope == Nodes) && p.Tenant != DefaultTenant {
		return false
	}
	return slices.Contains(p.Scopes, scope) || slices.Contains(p.Scopes, Admin)
}

// Operates reports whether the principal manages the parts that belong to every tenant.
func (p *Principal) Operates() bool { return p.Tenant == DefaultTenant && p.May(Admin) }

type principalKey struct{}

// With returns a context of a request of the principal. The context ends when the principal may do no more. The caller calls
// done when the request has ended.
func With(ctx context.Context, p *Principal) (_ context.Context, done func()) {
	ctx = context.WithValue(ctx, principalKey{}, p)
	if p.Live == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(p.Live, func() { cancel(context.Cause(p.Live)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// From returns the principal of a context; ok is false when there is no principal.
func From(ctx context.Context) (_ *Principal, ok bool) {
	p, ok := ctx.Value(principalKey{}).(*Principal)
	return p, ok
}

// Caller returns the principal of a context. A context without one is an error, so that a door that forgets to ask for a key
// shows the data of no tenant.
func Caller(ctx context.Context) (*Principal, error) {
	p, ok := From(ctx)
	if !ok {
		return nil, yurt.Errorf(yurt.CodeUnauthenticated, "the request names no caller; send an API key as Authorization: Bearer yurt_…")
	}
	return p, nil
}
