package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	"github.com/yurtrun/yurt/controller/internal/record"
)

// readTexts are the statements that reads of one row need often. Parsing them each time
// would take longer than they do.
func readTexts() []string {
	return []string{selectSession, selectExecution, selectTemplate, selectOutput}
}

// reader is a pool of connections that read, with statements that are prepared once.
type reader struct {
	*sql.DB
	prepared map[string]*sql.Stmt // by text; never changed once open
}

func newReader(ctx context.Context, path string, n int) (*reader, error) {
	db, err := openDatabase(readDSN(path), n)
	if err != nil {
		return nil, err
	}
	r := &reader{DB: db, prepared: map[string]*sql.Stmt{}}
	for _, text := range readTexts() {
		statement, err := db.PrepareContext(ctx, text) //nolint:sqlclosecheck // Close does
		if err != nil {
			return nil, errors.Join(fmt.Errorf("preparing the store's statements: %w", err), r.Close())
		}
		r.prepared[text] = statement
	}
	return r, nil
}

// openDatabase opens a pool of at most n connections.
func openDatabase(name string, n int) (*sql.DB, error) {
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}

// dsn names the file, and how it is opened to be written. Only a checkpoint waits for the disk, and the commit that triggers it:
// every 16 MiB of log, in place of SQLite's 4. A log that one large transaction made longer is cut when the next one
// begins. Free pages can be returned to the disk, see [Store.Shrink].
func dsn(path string) string {
	return location(path) +
		"&_pragma=auto_vacuum(incremental)&_pragma=journal_mode(WAL)&_pragma=journal_size_limit(33554432)&_pragma=synchronous(NORMAL)&_pragma=foreign_keys(1)&_pragma=wal_autocheckpoint(4096)"
}

// readDSN names the file, and how it is opened to be read. It has none of the settings of [dsn]: a connection that sets auto_vacuum
// takes the lock to write, and holds it until the disk has its change.
func readDSN(path string) string { return location(path) + "&_txlock=deferred&_pragma=query_only(1)" }

// location names the file, and how long a connection waits for a lock of another.
func location(path string) string {
	file := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	return file.String() + "?_pragma=busy_timeout(10000)"
}

// QueryRowContext is that of sql.DB, with a prepared statement where there is one.
func (r *reader) QueryRowContext(ctx context.Context, text string, args ...any) record.Row {
	if statement, ok := r.prepared[text]; ok {
		return explainedRow{statement.QueryRowContext(ctx, args...)}
	}
	return explainedRow{r.DB.QueryRowContext(ctx, text, args...)}
}

// list returns all rows that a statement reads. Errors of the statement name its purpose; scan names it in its own errors.
func list[T any](ctx context.Context, r *reader, what, text string, args []any, scan func(row record.Row) (T, error)) ([]T, error) {
	rows, err := r.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	defer rows.Close()
	var found []T
	for rows.Next() {
		value, err := scan(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, value)
	}
	return found, rows.Err()
}

// explainedRow is a row whose errors have codes.
type explainedRow struct{ *sql.Row }

func (r explainedRow) Scan(to ...any) error { return explain(r.Row.Scan(to...)) }

// Close closes the statements and the connections.
func (r *reader) Close() error {
	var errs []error
	for _, statement := range r.prepared {
		errs = append(errs, statement.Close())
	}
	return errors.Join(append(errs, r.DB.Close())...)
}
