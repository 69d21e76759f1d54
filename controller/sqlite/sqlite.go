package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"runtime"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // registers the driver

	"github.com/yurtrun/yurt/controller"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store is a controller.Store in a SQLite file. It is safe for concurrent use.
type Store struct {
	write *database // one connection: SQLite has one writer
	read  *database
}

var _ controller.Store = (*Store)(nil)

// Open opens the file at path, makes it when it is not there, and brings its
// schema up to date. The caller closes the store.
func Open(ctx context.Context, path string) (*Store, error) {
	if err := createPrivate(path); err != nil {
		return nil, err
	}
	write, err := openDatabase(ctx, dsn(path, "immediate"), 1, func(db *sql.DB) error { return migrate(ctx, db) })
	if err != nil {
		return nil, err
	}
	readers := max(4, runtime.GOMAXPROCS(0))
	read, err := openDatabase(ctx, dsn(path, "deferred")+"&_pragma=query_only(1)", readers, nil)
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	return &Store{write: write, read: read}, nil
}

// createPrivate makes the file, so that SQLite does not make it readable by all.
func createPrivate(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("opening the store: %w", err)
	}
	return file.Close()
}

func dsn(path, lock string) string {
	location := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}
	return location.String() + "?_txlock=" + lock +
		"&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=foreign_keys(1)"
}

func migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithSlog(slog.New(slog.DiscardHandler)))
	if err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrating the store: %w", err)
	}
	return nil
}

// Close closes the file.
func (s *Store) Close() error { return errors.Join(s.read.Close(), s.write.Close()) }

// Ping implements controller.Store.
func (s *Store) Ping(ctx context.Context) error {
	var one int
	if err := s.read.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
		return fmt.Errorf("asking the store: %w", err)
	}
	return nil
}

// transact runs work in a transaction of the writing connection. The lock is taken
// at its begin, so that what it reads stays true until it commits.
func (s *Store) transact(ctx context.Context, work func(tx *transaction) error) error {
	tx, err := s.write.begin(ctx)
	if err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	if err := work(tx); err != nil {
		if rollback := tx.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			return errors.Join(err, fmt.Errorf("rolling back: %w", rollback))
		}
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	return nil
}
