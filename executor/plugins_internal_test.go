package executor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSocketsOfRuntimesAreSwept: what an executor that was killed left is gone when the
// next one starts on its state directory.
func TestSocketsOfRuntimesAreSwept(t *testing.T) {
	if testing.Short() {
		t.Skip("writes to /run; run without -short")
	}
	state, err := os.MkdirTemp("", "yurt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	long := filepath.Join(state, strings.Repeat("x", 80))
	for state, parent := range map[string]string{state: state, long: "/run"} {
		for range 2 {
			dir, err := pluginSockets(state)
			if err != nil || filepath.Dir(dir) != parent || len(dir)+maxPluginSocket > maxSocketPath {
				t.Fatalf("they are in %q, %v", dir, err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
				t.Errorf("left are %v, %v", left, err)
			}
			if _, err := os.MkdirTemp(dir, "plugin-dir"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestSocketsOfAnAbandonedExecutorAreSwept: also where they are not in its directory.
func TestSocketsOfAnAbandonedExecutorAreSwept(t *testing.T) {
	if testing.Short() {
		t.Skip("writes to /run; run without -short")
	}
	state := filepath.Join(t.TempDir(), strings.Repeat("x", 80))
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(state, "lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * abandonedAfter)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	dir, err := pluginSockets(state)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := RemoveAbandoned(state); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, state} {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
}
