package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/yurtrun/yurt/controller/internal/record"
	"github.com/yurtrun/yurt/executor/headroom"
)

// writer is the one connection that writes: SQLite has one writer. It uses neither the transactions of database/sql
// nor contexts that can end: both start a goroutine for each transaction or statement, which takes longer than the
// statement. A transaction here takes a fraction of a millisecond and does not wait for other connections.
type writer struct {
	db         *sql.DB
	conn       *sql.Conn
	turn       chan struct{}        // has a token while no transaction runs
	dir        string               // that the file is in
	room       *headroom.Room       // for transactions that end sessions or executions
	statements map[string]*sql.Stmt // by text; owned by the transaction that has the turn
	took       prometheus.Histogram // of transactions
	erased     atomic.Bool          // a secret was removed since the log was emptied, which may still have it
}

// newWriter takes the only connection of db.
func newWriter(ctx context.Context, db *sql.DB, path string) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	w := &writer{
		db: db, conn: conn, turn: make(chan struct{}, 1), statements: map[string]*sql.Stmt{},
		took: record.NewWriteDuration(), dir: filepath.Dir(path), room: roomFor(path),
	}
	w.turn <- struct{}{}
	return w, nil
}

// transact runs work in a transaction. It takes the lock at its begin, so that values that it reads stay true until it
// commits. It waits for its turn no longer than ctx lasts, and then runs to its end. It calls ended before another
// transaction begins: after the commit, and also when the commit fails, so that its outcome is unknown.
func (w *writer) transact(ctx context.Context, work func(tx *transaction) error, ended func(committed bool)) error {
	done, err := w.take(ctx)
	if err != nil {
		return err
	}
	defer done()
	return w.carryOut(ctx, work, ended)
}

// carryOut is transact for the holder of the turn. A transaction that ends something is written on the room that is
// kept for that if the disk is full. Frames of the log that are in the file by then can be written over, so that one
// room is enough for any number of transactions.
func (w *writer) carryOut(ctx context.Context, work func(tx *transaction) error, ended func(committed bool)) error {
	tx := &transaction{w: w, ctx: context.WithoutCancel(ctx)}
	err := w.try(tx, work, ended)
	if !isFull(err, w.dir) {
		return explain(err)
	}
	if tx.ends {
		err = w.room.Use(func() error {
			_, _ = tx.exec("PRAGMA wal_checkpoint(PASSIVE)") // the next transaction reuses the space in the log
			return w.try(tx, work, ended)
		})
	}
	if isFull(err, w.dir) {
		return diskFull(err)
	}
	return explain(err)
}

// try carries a transaction out once.
func (w *writer) try(tx *transaction, work func(tx *transaction) error, ended func(committed bool)) error {
	open := true
	defer func() {
		if open { // also when work panics
			tx.rollback()
		}
	}()
	if _, err := tx.exec("BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	if err := work(tx); err != nil {
		return err
	}
	if _, err := tx.exec("COMMIT"); err != nil {
		ended(false)
		return fmt.Errorf("committing: %w", err)
	}
	open = false
	ended(true)
	return nil
}

// exec runs one statement that is its own transaction.
func (w *writer) exec(ctx context.Context, text string, args ...any) (sql.Result, error) {
	done, err := w.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	tx := transaction{w: w, ctx: context.WithoutCancel(ctx)}
	result, err := tx.exec(text, args...)
	if isFull(err, w.dir) {
		return nil, diskFull(err)
	}
	return result, explain(err)
}

// take waits for the turn to write, which done ends.
func (w *writer) take(ctx context.Context) (done func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("beginning a transaction: %w", err)
	}
	begun := time.Now()
	select {
	case <-w.turn:
		return func() {
			w.turn <- struct{}{}
			w.took.Observe(time.Since(begun).Seconds())
		}, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("beginning a transaction: %w", ctx.Err())
	}
}

// statement returns the statement of a text, which is prepared once: parsing takes
// longer than most of them.
func (w *writer) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	if statement, ok := w.statements[text]; ok {
		return statement, nil
	}
	statement, err := w.conn.PrepareContext(ctx, text) //nolint:sqlclosecheck // Close does
	if err != nil {
		return nil, fmt.Errorf("preparing a statement: %w", err)
	}
	w.statements[text] = statement
	return statement, nil
}

// Close closes the connection after the running transaction.
func (w *writer) Close() error {
	<-w.turn
	var errs []error
	for _, statement := range w.statements {
		errs = append(errs, statement.Close())
	}
	return errors.Join(append(errs, w.conn.Close(), w.db.Close(), w.room.Close())...)
}

// transaction runs statements while it has the turn to write. Their texts are few, and never contain values.
type transaction struct {
	w    *writer
	ctx  context.Context //nolint:containedctx // of all that the transaction does; it never ends
	ends bool            // something ends with it, which must be possible also when the disk is full
}

func (t *transaction) exec(text string, args ...any) (sql.Result, error) {
	statement, err := t.w.statement(t.ctx, text)
	if err != nil {
		return nil, err
	}
	return statement.ExecContext(t.ctx, args...)
}

// erasing has a change overwrite the removed rows in the file, and the log emptied soon. Both cost writes, so that only secrets are
// removed like this.
func (t *transaction) erasing(change func() error) error {
	if _, err := t.exec("PRAGMA secure_delete = ON"); err != nil {
		return err
	}
	t.w.erased.Store(true)
	err := change()
	_, off := t.exec("PRAGMA secure_delete = OFF")
	return errors.Join(err, off)
}

// emptyLog writes the log back to the file and empties it. It reports false while a reader still needs it.
func (w *writer) emptyLog(ctx context.Context) (bool, error) {
	done, err := w.take(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	tx := transaction{w: w, ctx: context.WithoutCancel(ctx)}
	var busy, pages, written int
	err = tx.row("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &written)
	return busy == 0, explain(err)
}

// row runs a statement with one row; scanning a missing row returns [sql.ErrNoRows].
func (t *transaction) row(text string, args ...any) record.Row {
	statement, err := t.w.statement(t.ctx, text)
	if err != nil {
		return failedRow{err}
	}
	return statement.QueryRowContext(t.ctx, args...)
}

// failedRow is the row of a statement that could not be prepared.
type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }

// rollback leaves the transaction. SQLite's answer does not matter: it rolls back by itself when the disk is full, and
// the next begin rolls back again if necessary.
func (t *transaction) rollback() { _, _ = t.exec("ROLLBACK") }
