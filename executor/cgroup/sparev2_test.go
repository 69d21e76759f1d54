package cgroup

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// TestLeafAheadV2: on v2 a group has one leaf without a run at most. A run gets it once, and is found by its name, also in the next
// executor.
func TestLeafAheadV2(t *testing.T) {
	g := onTree(t)
	again := func() *groupV2 { return &groupV2{dir: g.dir} } // as another executor has it
	leaf, err := g.Ahead()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Ahead(); !errors.Is(err, ErrBusy) {
		t.Errorf("a second leaf without a run: %v, want %v", err, ErrBusy)
	}
	if err := errors.Join(leaf.NameAfter("run"), leaf.NameAfter("run")); err != nil {
		t.Fatal(err)
	}
	if names, err := again().Leaves(); err != nil || !slices.Equal(names, []string{"run"}) {
		t.Errorf("the group has the leaves %q, %v, want that of the run", names, err)
	}
	next, err := g.Ahead()
	if err != nil {
		t.Fatal(err)
	}
	cmd := staysAhead(t, next.(*leafV2))
	later := again()
	if _, err := later.Ahead(); !errors.Is(err, ErrBusy) {
		t.Errorf("beside a leaf with a process and without a run: %v, want %v", err, ErrBusy)
	}
	if err := errors.Join(later.Reclaim("begun"), later.Reclaim("begun"), later.Reclaim("gone")); err != nil {
		t.Fatal(err)
	}
	found, err := later.Find("begun")
	if err != nil {
		t.Fatal(err)
	}
	killed(t, found, cmd)
	if err := errors.Join(found.Remove(), leaf.Remove()); err != nil {
		t.Error(err)
	}
	for range 2 { // the second one removes that of the first
		if _, err := again().Ahead(); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(g.dir, "runs")); err != nil || len(left) != 1+len(controlsIn(left)) {
		t.Errorf("the runs have %v, %v, want one leaf", left, err)
	}
}

// staysAhead starts a program that sleeps, and moves it into the leaf.
func staysAhead(t *testing.T, leaf *leafV2) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	if err := os.WriteFile(filepath.Join(leaf.dir, "cgroup.procs"), []byte(strconv.Itoa(cmd.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// controlsIn lists the entries that are control files.
func controlsIn(list []os.DirEntry) (files []os.DirEntry) {
	for _, entry := range list {
		if !entry.IsDir() {
			files = append(files, entry)
		}
	}
	return files
}
