package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/yurtrun/yurt/controller/internal/record"
)

const (
	// shrinkPages is how many pages are given back in one turn, so that other writes wait for a few
	// milliseconds at most.
	shrinkPages = 512
	// shrinkLeast is how many pages may stay free: the next results take them.
	shrinkLeast = 1024
)

// incremental is the mode of a file that can be cut without writing all of it again.
const incremental = 2

// makeShrinkable changes a file of an older version, once, so that it can be cut. It writes the file
// anew, which takes as much room again; without that room the file stays as it is until the next start.
func makeShrinkable(ctx context.Context, db *sql.DB, dir string) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("opening the store: %w", err)
	}
	defer conn.Close()
	var mode int
	if err := conn.QueryRowContext(ctx, "PRAGMA auto_vacuum").Scan(&mode); err != nil {
		return fmt.Errorf("asking whether the store can shrink: %w", err)
	}
	if mode == incremental {
		return nil
	}
	for _, text := range []string{"PRAGMA auto_vacuum = incremental", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if _, err := conn.ExecContext(ctx, text); err != nil && !isFull(err, dir) {
			return fmt.Errorf("making the store able to shrink: %w", err)
		}
	}
	return nil
}

// Shrink gives the free pages of the file back to the disk, but for a few, and empties the log where that may have the environment
// of a session that has ended. It lets others write between two steps.
func (s *Store) Shrink(ctx context.Context) error {
	shrunk := false
	for {
		var free int
		if err := s.read.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&free); err != nil {
			return fmt.Errorf("counting the free pages of the store: %w", err)
		}
		if free <= shrinkLeast {
			break
		}
		if err := s.write.cut(ctx, min(shrinkPages, free-shrinkLeast)); err != nil {
			return fmt.Errorf("giving free pages of the store back: %w", err)
		}
		shrunk = true
	}
	erased := s.write.erased.Swap(false)
	if !shrunk && !erased {
		return nil
	}
	emptied, err := s.write.emptyLog(ctx) // which cuts the file
	if err != nil {
		err = fmt.Errorf("writing the log of the store back: %w", err)
	}
	if erased && !emptied {
		s.write.erased.Store(true)
	}
	return err
}

// cut takes pages off the end of the file. SQLite does it step by step as its rows are read.
func (w *writer) cut(ctx context.Context, pages int) error {
	done, err := w.take(ctx)
	if err != nil {
		return err
	}
	defer done()
	rows, err := w.conn.QueryContext(context.WithoutCancel(ctx), fmt.Sprintf("PRAGMA incremental_vacuum(%d)", pages))
	if err != nil {
		return explain(err)
	}
	for rows.Next() { //nolint:revive // each step gives a page back
	}
	return explain(errors.Join(rows.Err(), rows.Close()))
}

// sizes describes the metric of the store's size on disk.
func sizes() *prometheus.Desc {
	return prometheus.NewDesc("yurt_store_bytes", "Disk space of the store.", []string{"part"}, nil)
}

// Describe implements [prometheus.Collector].
func (s *Store) Describe(descs chan<- *prometheus.Desc) {
	descs <- sizes()
	descs <- record.TenantSessions()
	s.write.took.Describe(descs)
}

// Collect implements [prometheus.Collector].
func (s *Store) Collect(samples chan<- prometheus.Metric) {
	for part, suffix := range map[string]string{"database": "", "log": "-wal"} {
		var size int64
		if info, err := os.Stat(s.path + suffix); err == nil {
			size = info.Size()
		}
		samples <- prometheus.MustNewConstMetric(sizes(), prometheus.GaugeValue, float64(size), part)
	}
	s.write.took.Collect(samples)
	record.CollectTenants(samples, s.countTenants)
}

var _ prometheus.Collector = (*Store)(nil)

func (s *Store) dir() string { return filepath.Dir(s.path) }
