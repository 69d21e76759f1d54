package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/internal/record"
	"github.com/yurtrun/yurt/controller/quota"
)

// QuotaStore keeps the quotas of tenants in the database of a [Store], which enforces them.
type QuotaStore struct{ *Store }

var _ quota.Store = QuotaStore{}

// Quotas returns the quotas of a store.
func Quotas(store *Store) QuotaStore { return QuotaStore{store} }

// SetQuotas implements quota.Store.
func (s QuotaStore) SetQuotas(ctx context.Context, tenant string, quotas access.Quotas) error {
	value, err := record.QuotasValue(quotas)
	if err != nil {
		return err
	}
	_, err = s.exec(ctx, "setting quotas", record.SetQuotas, tenant, value)
	return err
}

// Quotas implements quota.Store.
func (s QuotaStore) Quotas(ctx context.Context, tenant string) (access.Quotas, error) {
	quotas, _, err := first(ctx, s.Store, "reading quotas", record.SelectQuotas, []any{tenant}, record.ScanQuotas)
	return quotas, err
}

// TenantNames implements quota.Store.
func (s QuotaStore) TenantNames(ctx context.Context, after string, limit int) ([]string, error) {
	return list(ctx, s.Store, "listing tenants", record.TenantNames+record.Limit(limit), []any{after}, func(row record.Row) (name string, err error) {
		return name, row.Scan(&name)
	})
}

// Usage implements quota.Store.
func (s QuotaStore) Usage(ctx context.Context, tenant string, now time.Time) (u access.Usage, err error) {
	const what = "adding up the use of a tenant"
	add := func(text string, args []any, scan func(row record.Row) error) {
		if err == nil {
			_, _, err = first(ctx, s.Store, what, text, args, func(row record.Row) (struct{}, error) { return struct{}{}, scan(row) })
		}
	}
	var oldest int64
	add(record.UseOfSessions, []any{tenant}, func(row record.Row) error { return row.Scan(&u.Sessions, &u.CPU, &u.Memory, &u.Disk) })
	add(record.Creates, []any{tenant, now.Add(-quota.Window).UnixNano()}, func(row record.Row) error { return row.Scan(&u.CreatesPerMinute, &oldest) })
	add(record.UseOfExecutions, []any{tenant}, func(row record.Row) error { return row.Scan(&u.Executions) })
	add(record.UseOfStorage, []any{tenant}, func(row record.Row) error { return row.Scan(&u.Storage) })
	return u, err
}

// bounded limits a sum to tenants with quotas, whose name is the last argument: for others it costs next to no time.
const bounded = " AND EXISTS (SELECT 1 FROM tenants WHERE name = ?)"

// admission reads, in a transaction that adds to the use of a tenant, whether it may. The row of the tenant stays locked, so that the
// transactions of all controllers come one after the other.
type admission struct {
	quotas access.Quotas
	found  bool
	used   access.Usage
	oldest int64
}

// lock queues the lock. The statements behind it see the changes of its holders before.
func (a *admission) lock(reads *pgx.Batch, condition string, argument any) {
	*a = admission{}
	queue(reads, "SELECT quotas FROM tenants WHERE name = "+condition+" FOR UPDATE", argument).QueryRow(func(row pgx.Row) (err error) {
		a.quotas, err = record.ScanQuotas(row)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		a.found = err == nil
		return err
	})
}

// readSession queues the sums for a session.
func (a *admission) readSession(reads *pgx.Batch, session yurt.Session) {
	a.lock(reads, "?", session.Tenant)
	queue(reads, record.UseOfSessions+bounded, session.Tenant, session.Tenant).QueryRow(func(row pgx.Row) error {
		return row.Scan(&a.used.Sessions, &a.used.CPU, &a.used.Memory, &a.used.Disk)
	})
	since := session.CreatedAt.Add(-quota.Window).UnixNano()
	queue(reads, record.Creates+bounded, session.Tenant, since, session.Tenant).QueryRow(func(row pgx.Row) error {
		return row.Scan(&a.used.CreatesPerMinute, &a.oldest)
	})
}

func (a *admission) admitSession(session yurt.Session) error {
	if !a.found {
		return nil
	}
	return quota.AdmitSession(a.quotas, a.used, record.FromNanos(a.oldest), session)
}

// readExecution queues the count for an execution of a session.
func (a *admission) readExecution(reads *pgx.Batch, sessionID string) {
	a.lock(reads, "(SELECT tenant FROM sessions WHERE id = ?)", sessionID)
	queue(reads, `SELECT count(*) FROM tenants JOIN sessions ON sessions.tenant = tenants.name AND sessions.ended_at IS NULL
		JOIN executions ON executions.session_id = sessions.id AND executions.result IS NULL
		WHERE tenants.name = (SELECT tenant FROM sessions WHERE id = ?)`, sessionID).QueryRow(func(row pgx.Row) error { return row.Scan(&a.used.Executions) })
}

func (a *admission) admitExecution() error {
	if !a.found {
		return nil
	}
	return quota.AdmitExecution(a.quotas, a.used.Executions)
}
