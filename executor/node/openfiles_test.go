package node_test

import (
	"os"
	"testing"

	"github.com/yurtrun/yurt/executor/openfiles"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestOpenFilesOfASandbox: a sandbox in which something runs takes no more files than are counted on.
func TestOpenFilesOfASandbox(t *testing.T) {
	e := testutil.Executor(t)
	begin := func() int {
		s := testutil.Create(t, e)
		if err := e.StartExecution(t.Context(), s.ID, testutil.Command("sleep 300")); err != nil {
			t.Fatal(err)
		}
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(open)
	}
	const more = 4
	first, last := begin(), 0
	if first > openfiles.Needed(1) {
		t.Errorf("an executor with a sandbox has %d files open, %d were counted on", first, openfiles.Needed(1))
	}
	for range more {
		last = begin()
	}
	if took := last - first; took > more*openfiles.PerSandbox {
		t.Errorf("%d sandboxes took %d files, more than %d each", more, took, openfiles.PerSandbox)
	} else {
		t.Logf("%d files at first, and %d for %d sandboxes more", first, took, more)
	}
}
