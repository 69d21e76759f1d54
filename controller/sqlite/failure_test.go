package sqlite_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/sqlite"
)

// wantRefused opens the store, which has to fail with all the parts and to leave the file as it is.
func wantRefused(t *testing.T, path string, parts ...string) {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), path)
	if err == nil {
		store.Close()
		t.Fatal("the store was opened")
	}
	if yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("error %v has code %s, want %s", err, yurt.CodeOf(err), yurt.CodeUnavailable)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the file has changed, or cannot be read: %v", err)
	}
}

// made returns the path of a store with many sessions, which is closed.
func made(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "yurt.db")
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		session := someSession()
		if err := store.CreateSession(t.Context(), session, yurt.Transition{To: session.State, At: session.CreatedAt}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestNewerSchemaIsRefused: this version would not maintain a newer version's data correctly.
func TestNewerSchemaIsRefused(t *testing.T) {
	path := made(t)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var known string
	if err := db.QueryRowContext(t.Context(), "SELECT max(version_id) FROM goose_db_version").Scan(&known); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)"); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, path, "version 99", "up to "+known)
}

// TestDamagedStoreIsRefused: with the file's name, and with how to go on.
func TestDamagedStoreIsRefused(t *testing.T) {
	none := filepath.Join(t.TempDir(), "yurt.db")
	if err := os.WriteFile(none, []byte(strings.Repeat("this is no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, none, none+" is damaged", "not a database", "--adopt-orphans")

	path := made(t)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096 // of SQLite; the first page describes the tables
	if _, err := file.WriteAt(make([]byte, info.Size()-page), page); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, path, path+" is damaged", "malformed", "Restore it")
}

// TestDamageOfAnOpenStore: requests get an error about the damage, without the name of a file of the host.
func TestDamageOfAnOpenStore(t *testing.T) {
	path := made(t)
	store := open(t, path)
	list, err := store.Sessions(t.Context(), contract.SessionQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, session := range list {
		_, err := store.Session(t.Context(), session.ID)
		if err == nil {
			continue
		}
		failed++
		if yurt.CodeOf(err) != yurt.CodeUnavailable || !strings.Contains(err.Error(), "store is damaged") || strings.Contains(err.Error(), path) {
			t.Fatalf("error %v with code %s", err, yurt.CodeOf(err))
		}
	}
	if failed == 0 {
		t.Error("no session was missed in the first page of the file")
	}
}
