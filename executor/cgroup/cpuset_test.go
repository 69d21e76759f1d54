package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
)

// TestPinned: a process that is born in a group with processors may run on no other.
func TestPinned(t *testing.T) {
	m := onV1(t)
	last := CPUList([]int{runtime.NumCPU() - 1})
	limits := modest()
	limits.CPUs = last
	g := createV1(t, m, "pinned", limits)
	for name, files := range map[string]func() ([]*os.File, error){"init": g.BirthFiles, "runs": g.HomeFiles} {
		cmd := startIn(t, files, "exec sleep 1000")
		if got := allowed(t, cmd.Process.Pid); got != last {
			t.Errorf("a process in %s runs on %s, want %s", name, got, last)
		}
	}
	if beside := startIn(t, createV1(t, m, "beside", modest()).BirthFiles, "exec sleep 1000"); allowed(t, beside.Process.Pid) != allowed(t, os.Getpid()) {
		t.Errorf("one in a group without processors runs on %s", allowed(t, beside.Process.Pid))
	}
	limits.CPUs = CPUList([]int{yurt.MaxCPUs - 1})
	if _, err := m.Create("none", limits); yurt.CodeOf(err) != yurt.CodeLimitNotEnforceable || !strings.Contains(err.Error(), limits.CPUs) {
		t.Errorf("a processor that is not there: %v", err)
	}
	for _, mount := range m.v1 {
		if _, err := os.Stat(filepath.Join(mount, m.parent, "none")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("left in %s: %v", mount, err)
		}
	}
}

// allowed is the processors that a process may run on.
func allowed(t *testing.T, pid int) string {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(data), "Cpus_allowed_list:")
	list, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(list)
}

func TestPinnedWithoutTheController(t *testing.T) {
	m := &Manager{parent: "yurt-test", v1: map[string]string{"memory": t.TempDir()}}
	if err := m.pinV1(m.groupV1("g", "cpuset"), "0"); yurt.CodeOf(err) != yurt.CodeLimitNotEnforceable || !strings.Contains(err.Error(), "cpuset") {
		t.Errorf("got %v", err)
	}
}

// TestPinnedV2 has trees whose kernel grants the processors, and trees whose kernel does not.
func TestPinnedV2(t *testing.T) {
	for _, test := range []struct {
		asked, effective string
		refused          bool
	}{
		{"1", "1", false},
		{"0,1,2,5", "0-2,5", false},
		{"7", "0-3", true},
		{"0,1", "0", true},
		{"1", "", true},
	} {
		root := t.TempDir()
		m := &Manager{parent: "yurt", v2: root}
		dir := filepath.Join(root, "yurt", "sandbox")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{
			filepath.Join(root, "cgroup.subtree_control"): "", filepath.Join(root, "yurt", "cgroup.subtree_control"): "",
			filepath.Join(dir, "cpuset.cpus"): "", filepath.Join(dir, "cpuset.cpus.effective"): test.effective + "\n",
		} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		err := m.pinV2(dir, test.asked)
		if test.refused != (yurt.CodeOf(err) == yurt.CodeLimitNotEnforceable) || !test.refused && err != nil {
			t.Errorf("%s where %q is granted: %v", test.asked, test.effective, err)
		}
		wantFile(t, root, "cgroup.subtree_control", "+cpuset")
		wantFile(t, filepath.Join(root, "yurt"), "cgroup.subtree_control", "+cpuset")
		wantFile(t, dir, "cpuset.cpus", test.asked)
	}
}
