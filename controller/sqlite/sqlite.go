package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"time"

	"github.com/pressly/goose/v3"
	"golang.org/x/sys/unix"
	_ "modernc.org/sqlite" // registers the driver

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/record"
	"github.com/yurtrun/yurt/executor/headroom"
	"github.com/yurtrun/yurt/internal/linux/flock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// lockPatience is how long Open waits for the process that had the file before: one that
// was killed may have a child left between its fork and its exec.
const lockPatience = time.Second

// Store is a contract.Store in a SQLite file. It is safe for concurrent use.
type Store struct {
	record.Results

	path   string
	lock   *os.File
	write  *writer
	read   *reader
	output *record.OutputWriter
	cache  *cache
	pools  poolSizes
}

var (
	_ contract.Store       = (*Store)(nil)
	_ contract.ShrinkStore = (*Store)(nil)
)

// Open opens the file at path, makes it if it does not exist, and brings its schema up to date. The caller closes the
// store. It fails when another process has the file open, since each would miss the other's changes in its cache.
func Open(ctx context.Context, path string) (_ *Store, err error) {
	s := &Store{path: path, cache: newCache()}
	table := outputTable{s}
	s.Results.Table, s.output = table, record.NewOutputWriter(table)
	defer func() {
		switch {
		case isDamage(err):
			err = damaged(path, err)
		case isFull(err, s.dir()):
			err = yurt.Errorf(yurt.CodeDiskFull, "opening the store %s: its disk is full; make room and start again%w", path, yurt.Hidden(err))
		}
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.lock, err = lock(path); err != nil {
		return nil, err
	}
	roomFor(path).Give() // the disk may be full, and opening the file takes room
	db, err := openDatabase(dsn(path)+"&_txlock=immediate", 1)
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := makeShrinkable(ctx, db, s.dir()); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if s.write, err = newWriter(ctx, db, path); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if s.read, err = newReader(ctx, path, max(4, runtime.GOMAXPROCS(0))); err != nil {
		return nil, err
	}
	if err := s.readLive(ctx); err != nil {
		return nil, err
	}
	s.write.room.Take()
	return s, nil
}

// roomSize is how many bytes are kept for ends while the disk is full: a hundred sessions, until the log begins anew.
const roomSize = 4 << 20

// roomFor returns the room that is kept beside the file at path.
func roomFor(path string) *headroom.Room { return headroom.New(path+".reserve", roomSize) }

// readLive reads the sessions that live, which are needed at once, so that damage shows when the store is opened.
func (s *Store) readLive(ctx context.Context) error {
	_, err := s.Sessions(ctx, contract.SessionQuery{Live: true})
	return err
}

// lock makes the file at path, so that SQLite does not make it readable by all, and locks
// one beside it: closing any descriptor of the file itself would end the locks that SQLite
// has of it.
func lock(path string) (*os.File, error) {
	beside, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	if err := flock.Take(beside, lockPatience); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errors.New("another process has it open; end that one, or give this one a file of its own")
		}
		return nil, errors.Join(fmt.Errorf("opening the store %s: %w", path, err), beside.Close())
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return beside, fmt.Errorf("opening the store: %w", err)
	}
	return beside, file.Close()
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

// Close closes the file.
func (s *Store) Close() error {
	var errs []error
	if s.read != nil {
		errs = append(errs, s.read.Close())
	}
	if s.write != nil {
		errs = append(errs, s.write.Close())
	}
	if s.lock != nil { // last
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// Ping implements contract.Store.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.write.room.Check(); err != nil {
		return diskFull(err)
	}
	var one int
	if err := s.read.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
		return fmt.Errorf("asking the store: %w", err)
	}
	return nil
}
