package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/record"
	"github.com/yurtrun/yurt/controller/lease"
)

const (
	defaultConns   = 16              // of a controller; the URL's pool_max_conns says otherwise
	connectTimeout = 3 * time.Second // likewise connect_timeout
	migrateLimit   = 5 * time.Minute // another controller may be at it
	migrateLock    = 0x79757274      // the advisory lock of a migration: "yurt"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store is a contract.Store in a PostgreSQL database. It is safe for concurrent use,
// also by several processes. It is a collector of the metrics of its own.
type Store struct {
	record.Results

	pool    *pgxpool.Pool
	output  *record.OutputWriter
	log     *slog.Logger
	away    atomic.Bool  // the last try found the server away
	full    atomic.Int64 // when the server last had no room on its disk, in nanoseconds since 1970
	metrics metrics
}

var (
	_ contract.Store       = (*Store)(nil)
	_ lease.Store          = (*Store)(nil)
	_ contract.ClockStore  = (*Store)(nil)
	_ prometheus.Collector = (*Store)(nil)
)

// IsURL reports whether a store is named in the way that [Open] understands.
func IsURL(s string) bool {
	return strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://")
}

// Option changes how a store works.
type Option func(*Store)

// WithLogger has the store say when the server is away, and why, and when it is back.
func WithLogger(logger *slog.Logger) Option { return func(s *Store) { s.log = logger } }

// Open connects to the database that the URL names, with the parameters of libpq and
// pool_max_conns, and brings its schema up to date. The caller closes the store.
func Open(ctx context.Context, url string, options ...Option) (*Store, error) {
	config, err := parse(url)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	s := &Store{pool: pool, log: slog.New(slog.DiscardHandler), metrics: newMetrics()}
	table := outputTable{s}
	s.Results.Table, s.output = table, record.NewOutputWriter(table)
	for _, option := range options {
		option(s)
	}
	if err = s.migrate(ctx); err == nil {
		err = s.forgetConnections(ctx)
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

// parse parses a URL. Its errors do not contain the URL, which may hold a password.
func parse(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if !IsURL(url) || err != nil {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "store", "it is no URL of a PostgreSQL database; give postgres://USER:PASSWORD@HOST:PORT/DATABASE")
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = defaultConns
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	// A connection that broke without the server's notice does not keep its locks.
	config.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = strconv.FormatInt(attemptLimit.Milliseconds(), 10)
	return config, nil
}

// migrate brings the schema up to date, one controller at a time.
func (s *Store) migrate(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, migrateLimit)
	defer cancel()
	db := stdlib.OpenDBFromPool(s.pool)
	defer func() { err = errors.Join(err, db.Close()) }()
	lock, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("opening the store: %w", err)
	}
	defer func() { err = errors.Join(err, unlock(ctx, lock)) }()
	if _, err := lock.ExecContext(ctx, "SELECT pg_advisory_lock($1)", migrateLock); err != nil {
		return fmt.Errorf("waiting for the migration of the store: %w", err)
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSlog(slog.New(slog.DiscardHandler)))
	if err != nil {
		return fmt.Errorf("reading the migrations: %w", err)
	}
	there, known, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("reading the version of the store's schema: %w", err)
	}
	if there > known {
		return contract.NewerSchema(there, known)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrating the store: %w", err)
	}
	return nil
}

func unlock(ctx context.Context, lock *sql.Conn) error {
	_, err := lock.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", migrateLock)
	return errors.Join(err, lock.Close())
}

// Close closes the connections.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}

// Ping implements contract.Store. It asks once.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	if err := s.pool.Ping(ctx); err != nil {
		return unavailable("asking the store", err)
	}
	s.back()
	if time.Since(time.Unix(0, s.full.Load())) < fullFor {
		return diskFull(errFull)
	}
	return nil
}
