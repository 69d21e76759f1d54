package quota

import (
	"context"
	"time"

	"github.com/yurtrun/yurt/access"
)

// Store keeps the quotas of tenants, and adds up their use. Package controller/storetest holds every implementation to this.
type Store interface {
	// SetQuotas replaces the quotas of a tenant.
	SetQuotas(ctx context.Context, tenant string, quotas access.Quotas) error
	// Quotas returns the quotas of a tenant, which are empty for one without any.
	Quotas(ctx context.Context, tenant string) (access.Quotas, error)
	// TenantNames lists the tenants that have quotas, keys or sessions, by name: at most so many after a name.
	TenantNames(ctx context.Context, after string, limit int) ([]string, error)
	// Usage adds up the use of a tenant at a time.
	Usage(ctx context.Context, tenant string, now time.Time) (access.Usage, error)
}
