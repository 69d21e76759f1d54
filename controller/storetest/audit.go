package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/audit"
	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/contract"
)

// RunAudit tests a store of the audit log. open returns an empty one, closed by the test's cleanup, and a function that runs a
// statement of SQL in its database.
func RunAudit(t *testing.T, open func(t *testing.T) (store audit.Store, exec func(ctx context.Context, text string) error)) {
	t.Run("entries come back as they went in", func(t *testing.T) {
		store, _ := open(t)
		testEntries(t, store)
	})
	t.Run("entries are purged by age alone", func(t *testing.T) {
		store, _ := open(t)
		testPurgeEntries(t, store)
	})
	t.Run("the database refuses to change the log", func(t *testing.T) {
		store, exec := open(t)
		testAppendOnly(t, store, exec)
	})
}

// entry returns the n-th entry of a tenant: a second younger than the one before.
func entry(tenant string, n int) access.Entry {
	return access.Entry{
		ID: fmt.Sprintf("%s%s%03d", access.EntryIDPrefix, tenant, n), At: epoch().Add(time.Duration(n) * time.Second), Tenant: tenant, KeyID: "key_a", Subject: "user-1",
		Address: "192.0.2.1", Action: "create-session", SessionID: "ses_a", Target: "/api/v1/sessions/ünï", Decision: access.Allowed, Status: 201,
		Detail: "why", RequestID: "req_a", Count: n,
	}
}

func addEntries(t *testing.T, store audit.Store, entries ...access.Entry) {
	t.Helper()
	if err := store.AddEntries(t.Context(), entries); err != nil {
		t.Fatal("adding entries:", err)
	}
}

func wantEntries(t *testing.T, store audit.Store, name string, query audit.Query, want ...access.Entry) {
	t.Helper()
	found, err := store.Entries(t.Context(), query)
	if err != nil {
		t.Fatal(name, err)
	}
	wantEqual(t, name, found, want)
}

func testEntries(t *testing.T, store audit.Store) {
	first, second, third, other := entry("a", 1), entry("a", 2), entry("a", 3), entry("b", 4)
	second.Decision, second.Action, second.KeyID, second.SessionID, second.RequestID = access.Denied, "get-file", "key_b", "ses_b", "req_b"
	second.Subject = "user-2"
	unknown := access.Entry{ID: access.EntryIDPrefix + "unknown", At: epoch().Add(9 * time.Second), Action: "authenticate", Decision: access.Denied, Count: 1}
	addEntries(t, store, first, second)
	addEntries(t, store, third, other, unknown)
	addEntries(t, store, third) // a repeated write, whose answer was lost
	everywhere, mine := auth.Everywhere(), auth.Tenant("a")
	wantEntries(t, store, "all", audit.Query{Reach: everywhere}, unknown, other, third, second, first)
	wantEntries(t, store, "a tenant's", audit.Query{Reach: mine}, third, second, first)
	wantEntries(t, store, "the zero reach", audit.Query{})
	wantEntries(t, store, "a page", audit.Query{Reach: mine, Before: contract.Position{CreatedAt: third.At, ID: third.ID}, Limit: 1}, second)
	wantEntries(t, store, "since", audit.Query{Reach: everywhere, Since: other.At}, unknown, other)
	wantEntries(t, store, "until", audit.Query{Reach: everywhere, Until: second.At}, first)
	for name, query := range map[string]audit.Query{
		"action": {Action: "get-file"}, "decision": {Decision: access.Denied}, "session": {SessionID: "ses_b"}, "key": {KeyID: "key_b"}, "subject": {Subject: "user-2"}, "request": {RequestID: "req_b"},
	} {
		query.Reach = mine
		wantEntries(t, store, name, query, second)
	}
}

func testPurgeEntries(t *testing.T, store audit.Store) {
	first, second, third := entry("a", 1), entry("a", 2), entry("a", 3)
	addEntries(t, store, first, second, third)
	if removed, err := store.PurgeEntries(t.Context(), third.At, 1); err != nil || removed != 1 {
		t.Errorf("purging one entry: %d, %v", removed, err)
	}
	wantEntries(t, store, "after one", audit.Query{Reach: auth.Everywhere()}, third, second)
	if removed, err := store.PurgeEntries(t.Context(), third.At, 100); err != nil || removed != 1 {
		t.Errorf("purging the rest: %d, %v", removed, err)
	}
	wantEntries(t, store, "after all", audit.Query{Reach: auth.Everywhere()}, third)
}

func testAppendOnly(t *testing.T, store audit.Store, exec func(ctx context.Context, text string) error) {
	young := entry("a", 1)
	young.At = time.Now().UTC().Round(0)
	addEntries(t, store, young)
	for _, text := range []string{"UPDATE audit SET tenant = 'b'", "DELETE FROM audit", "UPDATE audit SET created_at = 0"} {
		if err := exec(t.Context(), text); err == nil {
			t.Errorf("%s is carried out", text)
		}
	}
	if removed, err := store.PurgeEntries(t.Context(), time.Now().Add(time.Hour), 100); err == nil {
		t.Errorf("%d entries of the last hour were purged", removed)
	}
	wantEntries(t, store, "the log", audit.Query{Reach: auth.Everywhere()}, young)
}
