package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/yurtrun/yurt/controller"
)

// forgetLeases drops what the controllers of earlier lives held: one at a time uses the
// file.
func forgetLeases(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, "DELETE FROM leases"); err != nil {
		return fmt.Errorf("dropping old leases: %w", err)
	}
	return nil
}

// Leases implements controller.LeaseStore.
func (s *Store) Leases(ctx context.Context) ([]controller.Lease, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT name, holder, beat FROM leases ORDER BY name")
	if err != nil {
		return nil, fmt.Errorf("listing leases: %w", err)
	}
	defer rows.Close()
	var list []controller.Lease
	for rows.Next() {
		var lease controller.Lease
		if err := rows.Scan(&lease.Name, &lease.Holder, &lease.Beat); err != nil {
			return nil, fmt.Errorf("reading a lease: %w", err)
		}
		list = append(list, lease)
	}
	return list, rows.Err()
}

// TakeLease implements controller.LeaseStore.
func (s *Store) TakeLease(ctx context.Context, seen controller.Lease, holder string) (controller.Lease, bool, error) {
	text, args := "UPDATE leases SET holder = ?, beat = beat + 1 WHERE name = ? AND holder = ? AND beat = ? RETURNING beat", []any{holder, seen.Name, seen.Holder, seen.Beat}
	if seen.Beat == 0 {
		text, args = "INSERT INTO leases (name, holder, beat) VALUES (?, ?, 1) ON CONFLICT DO NOTHING RETURNING beat", []any{seen.Name, holder}
	}
	taken := controller.Lease{Name: seen.Name, Holder: holder}
	err := s.write.QueryRowContext(ctx, text, args...).Scan(&taken.Beat)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return controller.Lease{}, false, nil
	case err != nil:
		return controller.Lease{}, false, fmt.Errorf("taking a lease: %w", err)
	}
	return taken, true, nil
}

// ReleaseLease implements controller.LeaseStore.
func (s *Store) ReleaseLease(ctx context.Context, name, holder string) error {
	if _, err := s.write.ExecContext(ctx, "DELETE FROM leases WHERE name = ? AND holder = ?", name, holder); err != nil {
		return fmt.Errorf("releasing a lease: %w", err)
	}
	return nil
}
