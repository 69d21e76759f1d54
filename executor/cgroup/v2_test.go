package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/yurtrun/yurt"
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

// TestRootOfAContainer has trees as a container sees them.
func TestRootOfAContainer(t *testing.T) {
	tests := []struct {
		name, enabled, processes string
		want                     yurt.Code
	}{
		{"processes of its own, and nothing handed on", "", "1\n7\n", yurt.CodeLimitNotEnforceable},
		{"processes of its own, and one controller short", "memory cpu\n", "1\n", yurt.CodeLimitNotEnforceable},
		{"no processes", "", "", ""},
		{"controllers that are handed on already", "cpu memory pids\n", "", ""},
	}
	for _, tt := range tests {
		root := t.TempDir()
		for file, data := range map[string]string{
			"cgroup.type": "domain\n", "cgroup.controllers": "cpu memory pids\n",
			"cgroup.subtree_control": tt.enabled, "cgroup.procs": tt.processes,
		} {
			if err := os.WriteFile(filepath.Join(root, file), []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := checkV2(root)
		if tt.want == "" && err != nil || tt.want != "" && yurt.CodeOf(err) != tt.want {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
