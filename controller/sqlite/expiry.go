package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/record"
)

// ExpiredSessions implements controller.ExpiryStore.
func (s *Store) ExpiredSessions(ctx context.Context, now time.Time, n int) ([]yurt.Session, error) {
	return s.querySessions(ctx, " WHERE expires_at <= ? ORDER BY expires_at"+record.Limit(n), now.UnixNano())
}

// NextExpiry implements controller.ExpiryStore.
func (s *Store) NextExpiry(ctx context.Context) (time.Time, error) {
	var at int64
	err := s.read.QueryRowContext(ctx, "SELECT expires_at FROM sessions WHERE expires_at IS NOT NULL ORDER BY expires_at LIMIT 1").Scan(&at)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, fmt.Errorf("finding the next expiry: %w", err)
	}
	return record.FromNanos(at), nil
}

// PurgeSessions implements controller.ExpiryStore.
func (s *Store) PurgeSessions(ctx context.Context, endedBefore time.Time) (int, error) {
	result, err := s.write.exec(ctx, "DELETE FROM sessions WHERE ended_at < ?", endedBefore.UnixNano())
	if err != nil {
		return 0, fmt.Errorf("purging sessions: %w", err)
	}
	purged, err := result.RowsAffected() // none of which is kept in memory
	return int(purged), err
}
