package sqlite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/sqlite"
)

// fill ends n sessions with a result of a MiB each.
func fill(t *testing.T, store *sqlite.Store, n int) {
	t.Helper()
	keep := func(*yurt.Session, int) ([]yurt.Transition, error) { return nil, nil }
	for range n {
		s, err := add(t, store)
		if err != nil {
			t.Fatal(err)
		}
		e := yurt.Execution{ID: yurt.NewExecutionID(), SessionID: s.ID, Kind: yurt.KindCommand, State: yurt.ExecutionRunning, CreatedAt: time.Now()}
		if _, err := store.BeginExecution(t.Context(), e, keep); err != nil {
			t.Fatal(err)
		}
		result := &yurt.Result{Stdout: strings.Repeat("0123456789abcdef", 1<<16)}
		if _, _, err := store.EndExecution(t.Context(), e.ID, result, keep); err != nil {
			t.Fatal(err)
		}
		if err := end(t, store, s.ID); err != nil {
			t.Fatal(err)
		}
	}
}

func onDisk(t *testing.T, path string) (bytes int64) {
	t.Helper()
	for _, name := range []string{path, path + "-wal"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	return bytes
}

// TestShrink: what a purge removes, the disk has again.
func TestShrink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "yurt.db")
	store := open(t, path)
	fill(t, store, 40)
	before := onDisk(t, path)
	if before < 40<<20 {
		t.Fatalf("with 40 results of 1 MiB the store has %d bytes on disk", before)
	}
	if _, err := store.PurgeSessions(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := store.Shrink(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := onDisk(t, path); after > 8<<20 {
		t.Errorf("after the purge of all results the store has %d bytes on disk, of %d before; want at most 8 MiB", after, before)
	}
	if _, err := add(t, store); err != nil {
		t.Error("after it has shrunk:", err)
	}
}

// TestEnvironmentLeavesTheDisk: no file of the store has a value of an environment once its session has ended and the store was swept.
func TestEnvironmentLeavesTheDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "yurt.db")
	store := open(t, path)
	secrets := []string{"small-secret-5f3a", strings.Repeat("large-secret-77c1 ", 3000)} // the second has pages of its own
	var ids []string
	for _, secret := range secrets {
		s, err := addWith(t, store, map[string]string{"TOKEN": secret})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, s.ID)
	}
	holding := func() (found []string) {
		for _, name := range []string{path, path + "-wal"} {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range secrets {
				if strings.Contains(string(data), secret[:17]) {
					found = append(found, filepath.Base(name)+" has "+secret[:17])
				}
			}
		}
		return found
	}
	if len(holding()) == 0 {
		t.Fatal("the store has no environment of a session that lives")
	}
	for _, id := range ids {
		if err := end(t, store, id); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Shrink(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found := holding(); len(found) > 0 {
		t.Errorf("after the end of their sessions %q", found)
	}
}

// TestWorkGrowsTheFileByWhatIsKept: results that come and go leave a file as large as those that are kept, a few free pages more.
func TestWorkGrowsTheFileByWhatIsKept(t *testing.T) {
	const rounds, each, kept = 30, 2, 5 // results of 1 MiB
	path := filepath.Join(t.TempDir(), "yurt.db")
	store := open(t, path)
	for range rounds {
		fill(t, store, each)
		if _, err := store.TrimResults(t.Context(), "", kept*each<<20+1<<16); err != nil {
			t.Fatal(err)
		}
		if err := store.Shrink(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	const slack = 6 << 20      // free pages that stay for the next results, and the records of sessions
	file, err := os.Stat(path) // its log has a bound of its own, see dsn
	if err != nil {
		t.Fatal(err)
	}
	if size := file.Size(); size < kept*each<<20 || size > kept*each<<20+slack {
		t.Errorf("after %d MiB of results, of which %d are kept, the file has %d bytes", rounds*each, kept*each, size)
	}
}
