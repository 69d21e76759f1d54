package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/yurtrun/yurt/controller/internal/record"
	"github.com/yurtrun/yurt/controller/lease"
)

// Leases implements lease.Store.
func (s *Store) Leases(ctx context.Context) ([]lease.Lease, error) {
	return list(ctx, s, "listing leases", `SELECT name, holder, beat FROM leases ORDER BY name COLLATE "C"`, nil, func(row record.Row) (l lease.Lease, err error) {
		err = row.Scan(&l.Name, &l.Holder, &l.Beat)
		return l, err
	})
}

// errNotAsSeen means that another controller has the lease.
var errNotAsSeen = errors.New("the lease is not as it was seen")

// TakeLease implements lease.Store.
func (s *Store) TakeLease(ctx context.Context, seen lease.Lease, holder string) (lease.Lease, bool, error) {
	var now lease.Lease
	read := func(reads *pgx.Batch) {
		now = lease.Lease{}
		queue(reads, "SELECT name, holder, beat FROM leases WHERE name = ? FOR UPDATE", seen.Name).QueryRow(func(row pgx.Row) error {
			if err := row.Scan(&now.Name, &now.Holder, &now.Beat); !errors.Is(err, pgx.ErrNoRows) {
				return err
			}
			return nil
		})
	}
	err := s.transact(ctx, "taking a lease", read, func(writes *pgx.Batch) error {
		switch {
		case now.Beat != seen.Beat || now.Beat > 0 && now.Holder != seen.Holder:
			return errNotAsSeen
		case seen.Beat == 0:
			queue(writes, "INSERT INTO leases (name, holder, beat) VALUES (?, ?, 1)", seen.Name, holder)
		default:
			queue(writes, "UPDATE leases SET holder = ?, beat = beat + 1 WHERE name = ?", holder, seen.Name)
		}
		return nil
	})
	switch {
	case errors.Is(err, errNotAsSeen), violates(err, "leases_pkey"):
		return lease.Lease{}, false, nil
	case err != nil:
		return lease.Lease{}, false, err
	}
	return lease.Lease{Name: seen.Name, Holder: holder, Beat: seen.Beat + 1}, true, nil
}

// ReleaseLease implements lease.Store.
func (s *Store) ReleaseLease(ctx context.Context, name, holder string) error {
	_, err := s.exec(ctx, "releasing a lease", "DELETE FROM leases WHERE name = ? AND holder = ?", name, holder)
	return err
}
