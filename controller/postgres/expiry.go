package postgres

import (
	"context"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/record"
)

// ExpiredSessions implements contract.ExpiryStore.
func (s *Store) ExpiredSessions(ctx context.Context, now time.Time, n int) ([]yurt.Session, error) {
	return s.sessions(ctx, " WHERE expires_at <= ? ORDER BY expires_at"+record.Limit(n), now.UnixNano())
}

// NextExpiry implements contract.ExpiryStore.
func (s *Store) NextExpiry(ctx context.Context) (time.Time, error) {
	at, _, err := first(ctx, s, "finding the next expiry", "SELECT expires_at FROM sessions WHERE expires_at IS NOT NULL ORDER BY expires_at LIMIT 1", nil,
		func(row record.Row) (time.Time, error) {
			var at int64
			err := row.Scan(&at)
			return record.FromNanos(at), err
		})
	return at, err
}

// PurgeSessions implements contract.ExpiryStore.
func (s *Store) PurgeSessions(ctx context.Context, endedBefore time.Time) (int, error) {
	return s.exec(ctx, "purging sessions", "DELETE FROM sessions WHERE ended_at < ?", endedBefore.UnixNano())
}
