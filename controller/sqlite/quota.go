package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/internal/record"
	"github.com/yurtrun/yurt/controller/quota"
)

// QuotaStore keeps the quotas of tenants in the file of a [Store], which enforces them.
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
	if _, err := s.write.exec(ctx, record.SetQuotas, tenant, value); err != nil {
		return fmt.Errorf("setting quotas: %w", err)
	}
	return nil
}

// Quotas implements quota.Store.
func (s QuotaStore) Quotas(ctx context.Context, tenant string) (access.Quotas, error) {
	quotas, _, err := scanQuotas(s.read.QueryRowContext(ctx, record.SelectQuotas, tenant))
	return quotas, err
}

// scanQuotas reads the quotas of a tenant; ok is false for a tenant without any.
func scanQuotas(row record.Row) (_ access.Quotas, ok bool, err error) {
	quotas, err := record.ScanQuotas(row)
	if errors.Is(err, sql.ErrNoRows) {
		return access.Quotas{}, false, nil
	}
	if err != nil {
		return access.Quotas{}, false, fmt.Errorf("reading quotas: %w", err)
	}
	return quotas, true, nil
}

// TenantNames implements quota.Store.
func (s QuotaStore) TenantNames(ctx context.Context, after string, limit int) ([]string, error) {
	const what = "listing tenants"
	return list(ctx, s.read, what, record.TenantNames+record.Limit(limit), []any{after}, func(row record.Row) (name string, err error) {
		if err := row.Scan(&name); err != nil {
			return "", fmt.Errorf("%s: %w", what, err)
		}
		return name, nil
	})
}

// Usage implements quota.Store.
func (s QuotaStore) Usage(ctx context.Context, tenant string, now time.Time) (u access.Usage, err error) {
	row := func(text string, args ...any) record.Row { return s.read.QueryRowContext(ctx, text, args...) }
	if u, _, err = useOfSessions(row, tenant, now); err != nil {
		return u, err
	}
	if err = row(record.UseOfExecutions, tenant).Scan(&u.Executions); err == nil {
		err = row(record.UseOfStorage, tenant).Scan(&u.Storage)
	}
	if err != nil {
		err = fmt.Errorf("adding up the use of a tenant: %w", err)
	}
	return u, err
}

// useOfSessions adds up the sessions of a tenant, and returns when the first of the last minute was made.
func useOfSessions(row func(text string, args ...any) record.Row, tenant string, now time.Time) (u access.Usage, oldest time.Time, err error) {
	var first int64
	if err = row(record.UseOfSessions, tenant).Scan(&u.Sessions, &u.CPU, &u.Memory, &u.Disk); err == nil {
		err = row(record.Creates, tenant, now.Add(-quota.Window).UnixNano()).Scan(&u.CreatesPerMinute, &first)
	}
	if err != nil {
		return u, oldest, fmt.Errorf("adding up the use of a tenant: %w", err)
	}
	return u, record.FromNanos(first), nil
}

// admitSession refuses a session that is over a quota of its tenant.
func admitSession(tx *transaction, session yurt.Session) error {
	quotas, bounded, err := scanQuotas(tx.row(record.SelectQuotas, session.Tenant))
	if err != nil || !bounded {
		return err
	}
	used, oldest, err := useOfSessions(tx.row, session.Tenant, session.CreatedAt)
	if err != nil {
		return err
	}
	return quota.AdmitSession(quotas, used, oldest, session)
}

// admitExecution refuses an execution that is over the quota of its tenant.
func admitExecution(tx *transaction, tenant string) error {
	quotas, bounded, err := scanQuotas(tx.row(record.SelectQuotas, tenant))
	if err != nil || !bounded || quotas.Executions == nil {
		return err
	}
	running := 0
	if err := tx.row(record.UseOfExecutions, tenant).Scan(&running); err != nil {
		return fmt.Errorf("counting the executions of a tenant: %w", err)
	}
	return quota.AdmitExecution(quotas, running)
}
