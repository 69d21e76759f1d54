package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/yurtrun/yurt/controller/internal/record"
)

// errAborted says of a commit whose answer was lost that it did not take place.
var errAborted = fmt.Errorf("%w, and no change was stored", errLost)

// transaction is one try of [Store.transact].
type transaction struct {
	reads  pgx.Batch
	writes pgx.Batch
}

// transact runs a transaction in two round trips: the statements of read, and then, once decide knows the answers, its
// writes with the commit. Each statement reads with a snapshot of its own, so statements after a lock see the changes
// of the lock's previous holders. Both functions may be called more than once. When transact returns nil, the writes
// of the last call of decide are stored.
func (s *Store) transact(ctx context.Context, what string, read func(*pgx.Batch), decide func(*pgx.Batch) error) error {
	begun := time.Now()
	defer func() { s.metrics.took.Observe(time.Since(begun).Seconds()) }()
	return s.retry(ctx, what, func(ctx context.Context) error {
		var tx transaction
		read(&tx.reads)
		var lost *lostCommit
		err := s.connected(ctx, func(conn *pgxpool.Conn) error { return tx.run(ctx, conn, decide) })
		if errors.As(err, &lost) {
			return s.outcome(ctx, lost)
		}
		return err
	})
}

// lostCommit is a commit without an answer.
type lostCommit struct {
	mark  mark
	cause error
}

func (e *lostCommit) Error() string { return e.cause.Error() }
func (e *lostCommit) Unwrap() error { return e.cause }

func (tx *transaction) run(ctx context.Context, conn *pgxpool.Conn, decide func(*pgx.Batch) error) error {
	mark, err := nextMark(ctx, conn)
	if err != nil {
		return err
	}
	var begin pgx.Batch
	begin.Queue("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
	queue(&begin, "UPDATE connections SET last = ? WHERE id = ?", mark.number, mark.connection)
	begin.QueuedQueries = append(begin.QueuedQueries, tx.reads.QueuedQueries...)
	err = conn.SendBatch(ctx, &begin).Close()
	if err == nil {
		err = decide(&tx.writes)
	}
	if err != nil {
		rollback(ctx, conn)
		return err
	}
	tx.writes.Queue("COMMIT")
	if err := conn.SendBatch(ctx, &tx.writes).Close(); err != nil {
		if conn.Conn().IsClosed() {
			return &lostCommit{mark, err}
		}
		rollback(ctx, conn)
		return err
	}
	return nil
}

// rollback leaves the transaction. A connection that does not is closed by the pool.
func rollback(ctx context.Context, conn *pgxpool.Conn) {
	if !conn.Conn().IsClosed() {
		_, _ = conn.Exec(ctx, "ROLLBACK")
	}
}

// list collects the rows of a statement, whose arguments are question marks.
func list[T any](ctx context.Context, s *Store, what, text string, args []any, scan func(row record.Row) (T, error)) ([]T, error) {
	var found []T
	err := s.retry(ctx, what, func(ctx context.Context) error {
		found = nil
		return s.connected(ctx, func(conn *pgxpool.Conn) error {
			rows, err := conn.Query(ctx, numbered(text), plain(args)...)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				value, err := scan(rows)
				if err != nil {
					return err
				}
				found = append(found, value)
			}
			return rows.Err()
		})
	})
	return found, err
}

// first returns the one row that a statement reads, if there is any.
func first[T any](ctx context.Context, s *Store, what, text string, args []any, scan func(row record.Row) (T, error)) (value T, ok bool, err error) {
	found, err := list(ctx, s, what, text, args, scan)
	if err != nil || len(found) == 0 {
		return value, false, err
	}
	return found[0], true, nil
}

// exec runs a statement that does the same however often it is run, and returns how many
// rows it was about the last time.
func (s *Store) exec(ctx context.Context, what, text string, args ...any) (int, error) {
	var affected int64
	err := s.retry(ctx, what, func(ctx context.Context) error {
		return s.connected(ctx, func(conn *pgxpool.Conn) error {
			tag, err := conn.Exec(ctx, numbered(text), plain(args)...)
			affected = tag.RowsAffected()
			return err
		})
	})
	return int(affected), err
}

// queue adds a statement, whose arguments are question marks, to a batch.
func queue(batch *pgx.Batch, text string, args ...any) *pgx.QueuedQuery {
	return batch.Queue(numbered(text), plain(args)...)
}

// numbered returns a statement whose question marks are PostgreSQL's numbers.
func numbered(text string) string {
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(text, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(n))
		text = after
	}
}

// plain returns values that PostgreSQL accepts: its text has neither NUL nor invalid UTF-8. Both can only come from a
// program's output.
func plain(values []any) []any {
	for i, value := range values {
		if text, ok := value.(string); ok && (!utf8.ValidString(text) || strings.ContainsRune(text, 0)) {
			values[i] = strings.ReplaceAll(strings.ToValidUTF8(text, "�"), "\x00", "�")
		}
	}
	return values
}
