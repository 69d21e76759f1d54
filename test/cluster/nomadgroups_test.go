package cluster

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSharedGroups: the last of several clients removes the cgroups that they share, and leaves
// those that were there before.
func TestSharedGroups(t *testing.T) {
	dir := t.TempDir()
	lock, top := filepath.Join(dir, "lock"), filepath.Join(dir, "nomad")
	share := func() *sharedGroups {
		t.Helper()
		s, err := shareGroups(lock, []string{top})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	end := func(s *sharedGroups, left bool) {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if isThere(top) != left {
			t.Errorf("they are there: %t, want %t", !left, left)
		}
	}
	appear := func() {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(top, "reserve", "task"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		first := share()
		appear()
		second := share()
		end(first, true)
		third := share()
		end(second, true)
		end(third, false)
	}
	appear() // by somebody else
	first := share()
	second := share()
	end(first, true)
	end(second, true)
	if err := os.RemoveAll(top); err != nil {
		t.Fatal(err)
	}
	killed := share()
	appear()
	if err := killed.lock.Close(); err != nil { // as when it is killed
		t.Fatal(err)
	}
	end(share(), false)
}
