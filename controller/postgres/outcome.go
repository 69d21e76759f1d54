package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/yurtrun/yurt"
)

// mark is the trace of a committed transaction, for the case that its answer is lost: its number in the row of its
// connection. PostgreSQL's own transaction number is not enough: after a crash the server reuses numbers that it had
// not written down.
type mark struct{ connection, number int64 }

// markKey is where a connection keeps its last mark.
const markKey = "yurt.mark"

// nextMark returns a fresh mark. The first one of a connection makes its row.
func nextMark(ctx context.Context, conn *pgxpool.Conn) (mark, error) {
	data := conn.Conn().PgConn().CustomData()
	last, ok := data[markKey].(mark)
	if !ok {
		last.connection = rand.Int64() //nolint:gosec // unique, no secret
		if _, err := conn.Exec(ctx, "INSERT INTO connections (id, last) VALUES ($1, 0)", last.connection); err != nil {
			return mark{}, fmt.Errorf("noting a connection: %w", err)
		}
	}
	last.number++
	data[markKey] = last
	return last, nil
}

// forgetConnections removes the rows of closed connections: no connection stays open for as long as a day.
func (s *Store) forgetConnections(ctx context.Context) error {
	_, err := s.exec(ctx, "forgetting old connections", "DELETE FROM connections WHERE made_at < now() - interval '1 day'")
	return err
}

// outcome asks the server about a commit whose answer was lost: nil when it took place, [errAborted] when it did not.
func (s *Store) outcome(ctx context.Context, lost *lostCommit) error {
	deadline := time.Now().Add(patience)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		committed, err := s.committed(ctx, lost.mark)
		switch {
		case err == nil && committed:
			s.metrics.outcomes.WithLabelValues("committed").Inc()
			return nil
		case err == nil:
			s.metrics.outcomes.WithLabelValues("aborted").Inc()
			return errAborted
		case ctx.Err() != nil, time.Now().After(deadline), judge(err) == final:
			s.metrics.outcomes.WithLabelValues("unknown").Inc()
			cause := errors.Join(lost.cause, err)
			coded := yurt.Errorf(yurt.CodeUnavailable, "the store went away in the middle of the request, and it is not known whether it was carried out%w", yurt.Hidden(cause))
			coded.RetryAfter = retryAfter
			return coded
		}
		rest(ctx, pause)
	}
}

// committed reports whether a transaction did. It waits while the server is at it: the
// row is locked from the beginning of the transaction to its end.
func (s *Store) committed(ctx context.Context, m mark) (bool, error) {
	var last int64
	err := s.connected(ctx, func(conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, "SELECT last FROM connections WHERE id = $1 FOR UPDATE", m.connection).Scan(&last)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return false, fmt.Errorf("looking for a commit: %w", err)
	}
	return err == nil && last == m.number, err
}
