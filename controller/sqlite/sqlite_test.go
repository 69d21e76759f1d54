package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/sqlite"
	"github.com/yurtrun/yurt/controller/storetest"
)

func open(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error("closing the store:", err)
		}
	})
	return store
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) controller.Store { return open(t, filepath.Join(t.TempDir(), "yurt.db")) })
}

func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a ?#% name.db")
	first := open(t, path)
	if err := first.CreateTemplate(t.Context(), yurt.Template{Name: "kept"}); err != nil {
		t.Fatal(err)
	}
	second := open(t, path) // the first is still open, as after a kill
	if _, err := second.Template(t.Context(), "kept"); err != nil {
		t.Error("after opening again:", err)
	}
}

func TestFileIsPrivate(t *testing.T) {
	dir := t.TempDir()
	store := open(t, filepath.Join(dir, "yurt.db"))
	if err := store.CreateTemplate(t.Context(), yurt.Template{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o; sessions may hold secrets", entry.Name(), mode)
		}
	}
	if len(entries) == 0 {
		t.Error("there is no file at the path")
	}
}

func TestOpenFails(t *testing.T) {
	if _, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "missing", "yurt.db")); err == nil {
		t.Error("opening a file in a missing directory succeeded")
	}
	path := filepath.Join(t.TempDir(), "yurt.db")
	if err := os.WriteFile(path, []byte("this is no database, although it is long enough to be looked at"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), path); err == nil {
		t.Error("opening what is no database succeeded")
	}
}
