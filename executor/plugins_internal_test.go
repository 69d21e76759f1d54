package executor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSocketsOfRuntimesAreSwept: what an executor that was killed left is gone when the
// next one starts on its state directory.
func TestSocketsOfRuntimesAreSwept(t *testing.T) {
	state, err := os.MkdirTemp("", "yurt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	for range 2 {
		dir, err := pluginSockets(state)
		if err != nil || filepath.Dir(dir) != state {
			t.Fatalf("they are in %q, %v", dir, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("left are %v, %v", left, err)
		}
		if _, err := os.MkdirTemp(dir, "plugin-dir"); err != nil {
			t.Fatal(err)
		}
	}
	if dir, err := pluginSockets(filepath.Join(state, strings.Repeat("x", 80))); dir != "" || err != nil {
		t.Errorf("below a long path they are in %q, %v", dir, err)
	}
}
