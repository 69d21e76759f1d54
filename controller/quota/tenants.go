package quota

import (
	"context"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
)

// Tenants sets quotas and tells the use of tenants. It is safe for concurrent use.
type Tenants struct{ store Store }

// NewTenants returns the tenants of a store.
func NewTenants(store Store) *Tenants { return &Tenants{store} }

// Set replaces the quotas of a tenant. The caller has to be an operator.
func (t *Tenants) Set(ctx context.Context, tenant string, quotas access.Quotas) (access.TenantUsage, error) {
	if err := operates(ctx); err != nil {
		return access.TenantUsage{}, err
	}
	if err := access.CheckTenant("tenant", tenant); err != nil {
		return access.TenantUsage{}, err
	}
	if err := quotas.Check(); err != nil {
		return access.TenantUsage{}, err
	}
	if err := t.store.SetQuotas(ctx, tenant, quotas); err != nil {
		return access.TenantUsage{}, err
	}
	return t.usage(ctx, tenant)
}

// Usage returns the quotas and the use of the caller's tenant. An operator may name another one.
func (t *Tenants) Usage(ctx context.Context, tenant string) (access.TenantUsage, error) {
	tenant, err := Reachable(ctx, tenant)
	if err != nil {
		return access.TenantUsage{}, err
	}
	return t.usage(ctx, tenant)
}

// Reachable returns the tenant whose use a caller asks for: the own one if the caller names no tenant. An operator may name another one.
func Reachable(ctx context.Context, tenant string) (string, error) {
	caller, err := access.Caller(ctx)
	if err != nil {
		return "", err
	}
	switch {
	case tenant == "":
		tenant = caller.Tenant
	case tenant != caller.Tenant && !caller.Operates():
		return "", yurt.FieldErrorf(yurt.CodeForbidden, "tenant", "your key shows the use of the tenant %s alone; leave the field out", caller.Tenant)
	}
	return tenant, access.CheckTenant("tenant", tenant)
}

// List returns the quotas and the use of tenants, by name: at most so many after a name. The caller has to be an operator.
func (t *Tenants) List(ctx context.Context, after string, limit int) ([]access.TenantUsage, error) {
	if err := operates(ctx); err != nil {
		return nil, err
	}
	names, err := t.store.TenantNames(ctx, after, limit)
	list := make([]access.TenantUsage, 0, len(names))
	for _, name := range names {
		usage, err := t.usage(ctx, name)
		if err != nil {
			return nil, err
		}
		list = append(list, usage)
	}
	return list, err
}

func (t *Tenants) usage(ctx context.Context, tenant string) (access.TenantUsage, error) {
	quotas, err := t.store.Quotas(ctx, tenant)
	if err != nil {
		return access.TenantUsage{}, err
	}
	usage, err := t.store.Usage(ctx, tenant, time.Now())
	return access.TenantUsage{Tenant: tenant, Quotas: quotas, Usage: usage}, err
}

func operates(ctx context.Context) error {
	caller, err := access.Caller(ctx)
	if err == nil && !caller.Operates() {
		err = yurt.Errorf(yurt.CodeForbidden, "quotas are the operator's to set; yurt usage shows those of your tenant")
	}
	return err
}
