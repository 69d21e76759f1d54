package postgres

import (
	"context"
	"time"

	"github.com/yurtrun/yurt/controller/audit"
	"github.com/yurtrun/yurt/controller/internal/record"
)

// AuditStore keeps the audit log in the database of a [Store].
type AuditStore struct{ *Store }

var _ audit.Store = AuditStore{}

// Audit returns the audit log of a store.
func Audit(store *Store) AuditStore { return AuditStore{store} }

// AddEntries implements audit.Store.
func (s AuditStore) AddEntries(ctx context.Context, entries []audit.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	_, err := s.exec(ctx, "adding entries to the audit log", record.InsertEntries(len(entries)), record.EntryValues(entries)...)
	return err
}

// Entries implements audit.Store.
func (s AuditStore) Entries(ctx context.Context, query audit.Query) ([]audit.Entry, error) {
	var where record.Conditions
	where.Entries(query)
	text := "SELECT " + record.EntryColumns + " FROM audit" + where.SQL() + record.NewestFirst + record.Limit(query.Limit)
	return list(ctx, s.Store, "reading the audit log", text, where.Args, record.ScanEntry)
}

// PurgeEntries implements audit.Store.
func (s AuditStore) PurgeEntries(ctx context.Context, before time.Time, most int) (int, error) {
	return s.exec(ctx, "removing old entries of the audit log", record.PurgeEntries, before.UnixNano(), most)
}
