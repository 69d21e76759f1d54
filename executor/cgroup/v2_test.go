package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestControlFileThatIsNotThere is about the difference between a file that this
// kernel does not have and one that it does not let us write: the first may be
// gone without, the second is a limit that is not enforced.
func TestControlFileThatIsNotThere(t *testing.T) {
	manager, err := Open("yurt-test")
	if err != nil {
		t.Fatal(err)
	}
	root := manager.v2
	if manager.Version() == 1 {
		root = manager.v1["memory"]
	}
	if err := write(root, "memory.no_such_file", "1"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("writing to it gave %v", err)
	}
	if err := killV2(t.Context(), filepath.Join(root, "no-such-group")); err != nil {
		t.Errorf("killing a group that is not there gave %v", err)
	}
}
