package audit

import (
	"context"
	"time"

	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/contract"
)

// Store keeps entries and never changes one. Package controller/storetest holds every implementation to this.
type Store interface {
	// AddEntries adds entries. Entries that are there already, by id, are left as they are.
	AddEntries(ctx context.Context, entries []Entry) error
	// Entries lists the entries that match a query, newest first.
	Entries(ctx context.Context, query Query) ([]Entry, error)
	// PurgeEntries removes at most so many of the entries from before a time, and returns how many. The store itself refuses to
	// remove an entry of the last hour.
	PurgeEntries(ctx context.Context, before time.Time, most int) (int, error)
}

// Query says which entries to list. Zero fields do not filter, except for Reach, whose zero value reaches no entry.
type Query struct {
	Reach     auth.Reach
	Action    string
	Decision  access.Decision
	SessionID string
	KeyID     string
	Subject   string // of a caller with a token of an issuer
	RequestID string
	Since     time.Time         // only entries from then on
	Until     time.Time         // only entries from before
	Before    contract.Position // only those that come after this one in the list
	Limit     int               // at most so many; 0 is all
}
