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

const selectDue = "SELECT " + record.SessionColumns + ", expires_at FROM sessions WHERE expires_at <= ? ORDER BY expires_at"

// ExpiredSessions implements contract.ExpiryStore. It brings the column up to date for
// sessions that were used since it was written: one write for each in its idle timeout.
func (s *Store) ExpiredSessions(ctx context.Context, now time.Time, n int) ([]yurt.Session, error) {
	for {
		expired, stale, err := s.due(ctx, now, n)
		if err != nil || len(stale) == 0 {
			return expired, err
		}
		for _, id := range stale {
			if err := s.refreshExpiry(ctx, id); err != nil {
				return nil, err
			}
		}
	}
}

// due returns the sessions that have expired as the column says, and the ids of those that
// expire later than it says.
func (s *Store) due(ctx context.Context, now time.Time, n int) (expired []yurt.Session, stale []string, _ error) {
	rows, err := s.read.QueryContext(ctx, selectDue+record.Limit(n), now.UnixNano())
	if err != nil {
		return nil, nil, fmt.Errorf("listing expired sessions: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var due sql.Null[int64]
		session, err := record.ScanSession(rows, &due)
		if err != nil {
			return nil, nil, err
		}
		if record.ExpiresAt(session) != due {
			stale = append(stale, session.ID)
		}
		expired = append(expired, session)
	}
	return expired, stale, rows.Err()
}

// refreshExpiry writes when a session expires. It leaves alone one that is gone.
func (s *Store) refreshExpiry(ctx context.Context, id string) error {
	var after kept
	err := s.write.transact(ctx, func(tx *transaction) (err error) {
		if after, _, err = s.load(tx, id); err != nil {
			return err
		}
		after.due = record.ExpiresAt(after.session)
		return updateSession(tx, after.session)
	}, s.keep(&after))
	if yurt.CodeOf(err) == yurt.CodeSessionNotFound {
		return nil
	}
	return err
}

// NextExpiry implements contract.ExpiryStore. It reads the column.
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

// PurgeSessions implements contract.ExpiryStore.
func (s *Store) PurgeSessions(ctx context.Context, endedBefore time.Time) (int, error) {
	result, err := s.write.exec(ctx, "DELETE FROM sessions WHERE ended_at < ?", endedBefore.UnixNano())
	if err != nil {
		return 0, fmt.Errorf("purging sessions: %w", err)
	}
	purged, err := result.RowsAffected() // ended sessions, which the cache does not hold
	return int(purged), err
}
