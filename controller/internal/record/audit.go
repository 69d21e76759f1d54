package record

import (
	"strings"

	"github.com/yurtrun/yurt/controller/audit"
	"github.com/yurtrun/yurt/controller/contract"
)

// EntryColumns are the columns of an entry of the audit log, in the order of [EntryValues] and [ScanEntry].
const EntryColumns = "id, created_at, tenant, key_id, subject, address, action, session_id, target, decision, status, detail, request_id, count"

// InsertEntries returns the statement that adds so many entries, which leaves those that are there as they are.
func InsertEntries(n int) string {
	const row = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	return "INSERT INTO audit (" + EntryColumns + ") VALUES " + row + strings.Repeat(", "+row, n-1) + " ON CONFLICT (id) DO NOTHING"
}

// PurgeEntries removes at most so many entries from before a time.
const PurgeEntries = "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE created_at < ? ORDER BY created_at LIMIT ?)"

// EntryValues returns the stored values of entries, one after the other.
func EntryValues(entries []audit.Entry) []any {
	values := make([]any, 0, 14*len(entries))
	for _, e := range entries {
		values = append(values, e.ID, e.At.UnixNano(), e.Tenant, e.KeyID, e.Subject, e.Address, e.Action, e.SessionID, e.Target, string(e.Decision), e.Status, e.Detail, e.RequestID, e.Count)
	}
	return values
}

// ScanEntry reads the columns of an entry.
func ScanEntry(row Row) (e audit.Entry, err error) {
	var at int64
	err = row.Scan(&e.ID, &at, &e.Tenant, &e.KeyID, &e.Subject, &e.Address, &e.Action, &e.SessionID, &e.Target, &e.Decision, &e.Status, &e.Detail, &e.RequestID, &e.Count)
	e.At = FromNanos(at)
	return e, err
}

// Entries adds the conditions of a query of the audit log.
func (c *Conditions) Entries(query audit.Query) {
	c.Reach(query.Reach)
	c.equal("action", query.Action)
	c.equal("decision", string(query.Decision))
	c.equal("session_id", query.SessionID)
	c.equal("key_id", query.KeyID)
	c.equal("subject", query.Subject)
	c.equal("request_id", query.RequestID)
	c.Created(contract.Period{Since: query.Since, Until: query.Until})
	c.Before(query.Before)
}

// equal demands a value of a column, unless the value is empty. The second term is that of the indexes that leave empty values out.
func (c *Conditions) equal(column, value string) {
	if value != "" {
		c.Add(column+" = ? AND "+column+" <> ''", value)
	}
}
