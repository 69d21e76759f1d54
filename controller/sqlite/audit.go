package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/yurtrun/yurt/controller/audit"
	"github.com/yurtrun/yurt/controller/internal/record"
)

// AuditStore keeps the audit log in the file of a [Store].
type AuditStore struct{ *Store }

var _ audit.Store = AuditStore{}

// Audit returns the audit log of a store.
func Audit(store *Store) AuditStore { return AuditStore{store} }

// AddEntries implements audit.Store.
func (s AuditStore) AddEntries(ctx context.Context, entries []audit.Entry) error {
	return s.write.transact(ctx, func(tx *transaction) error {
		one := record.InsertEntries(1) // one statement for any number of entries, since each text is prepared and kept
		for i := range entries {
			if _, err := tx.exec(one, record.EntryValues(entries[i:i+1])...); err != nil {
				return fmt.Errorf("adding an entry to the audit log: %w", err)
			}
		}
		return nil
	}, func(bool) {})
}

// Entries implements audit.Store.
func (s AuditStore) Entries(ctx context.Context, query audit.Query) ([]audit.Entry, error) {
	var where record.Conditions
	where.Entries(query)
	text := "SELECT " + record.EntryColumns + " FROM audit" + where.SQL() + record.NewestFirst + record.Limit(query.Limit)
	return list(ctx, s.read, "reading the audit log", text, where.Args, func(row record.Row) (audit.Entry, error) {
		entry, err := record.ScanEntry(row)
		if err != nil {
			return entry, fmt.Errorf("reading an entry of the audit log: %w", err)
		}
		return entry, nil
	})
}

// PurgeEntries implements audit.Store.
func (s AuditStore) PurgeEntries(ctx context.Context, before time.Time, most int) (int, error) {
	result, err := s.write.exec(ctx, record.PurgeEntries, before.UnixNano(), most)
	if err != nil {
		return 0, fmt.Errorf("removing old entries of the audit log: %w", err)
	}
	removed, err := result.RowsAffected()
	return int(removed), err
}
