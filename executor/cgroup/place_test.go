package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// onTree makes a group without limits in a v2 tree: any host that has such a tree will do, whichever version its
// controllers are on.
func onTree(t *testing.T) *groupV2 {
	t.Helper()
	if testing.Short() {
		t.Skip("makes cgroups; run without -short")
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	m := &Manager{v1: make(map[string]string), parent: fmt.Sprintf("yurt-test-place-%d", os.Getpid())}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, " - cgroup2 ") {
			if err := m.findMounts(strings.NewReader(line)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if m.v2 == "" {
		t.Fatal("this test needs a host with a tree of cgroup v2, which may be one without controllers")
	}
	g := m.groupV2("sandbox", Limits{})
	if err := os.MkdirAll(filepath.Join(g.dir, "runs"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		destroy(t, g)
		m.RemoveParent()
	})
	return g
}

// TestPlaceIsTaken: a process in a place belongs to the run that takes the place. Each way of looking it up finds it,
// also in the next executor; a place that no run took is removed.
func TestPlaceIsTaken(t *testing.T) {
	g := onTree(t)
	place, err := g.NewPlace("waiting")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	procs, err := place.Entry()
	if err != nil {
		t.Fatal(err)
	}
	defer procs.Close()
	if _, err := procs.WriteString(strconv.Itoa(cmd.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	want := func(name string) {
		t.Helper()
		processes, err := g.Processes()
		if err != nil || len(processes) != 1 || !slices.Equal(processes[name], []int{cmd.Process.Pid}) {
			t.Errorf("processes %v, %v; want %d of %s", processes, err, cmd.Process.Pid, name)
		}
		if leaves, err := g.Leaves(); err != nil || !slices.Equal(leaves, []string{name}) {
			t.Errorf("leaves %q, %v; want %s", leaves, err, name)
		}
		if n, err := g.Count(name); n != 1 || err != nil {
			t.Errorf("%s has %d processes, %v", name, n, err)
		}
	}
	want("waiting")
	if _, err := g.Find("run"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nobody's leaf gave %v", err)
	}
	if err := place.Take(strings.Repeat("x", maxOwner+1)); err == nil {
		t.Error("it was taken by a name that is too long")
	}
	if err := place.Take("run"); err != nil {
		t.Fatal(err)
	}
	if err := place.Take("other"); err == nil {
		t.Error("it was taken twice")
	}
	want("run")
	found, err := g.Find("run")
	if err != nil {
		t.Fatal(err)
	}
	killed(t, found, cmd)
	if err := place.Discard(t.Context()); err != nil {
		t.Error(err)
	}
	if left, err := g.Leaves(); err != nil || len(left) != 0 {
		t.Errorf("there are %q, %v", left, err)
	}
}

// TestPlaceIsDiscarded: a place is discarded with its processes, whether taken or not, and a second time without error.
func TestPlaceIsDiscarded(t *testing.T) {
	g := onTree(t)
	place, err := g.NewPlace("waiting")
	if err != nil {
		t.Fatal(err)
	}
	if err := place.Take("run"); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- cmd.Wait() }()
	if err := writeInt(filepath.Join(g.dir, "runs", "waiting"), "cgroup.procs", int64(cmd.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(place.Discard(t.Context()), place.Discard(t.Context())); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("what was inside ended of itself")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.leaf("none").Discard(ctx); err != nil {
		t.Errorf("one that is not there gave %v", err)
	}
}
