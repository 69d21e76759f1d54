package node_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/node"
	"github.com/yurtrun/yurt/executor/statedir"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestReboot: neither sandboxes nor their records outlive the boot. The next executor removes their files on disk.
func TestReboot(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.RunDir = t.TempDir()
	first := testutil.Open(t, config)
	open(t, first, room("a"))
	plain, onDisk := testutil.Create(t, first), testutil.Create(t, first, onImage)
	if r := testutil.Run(t, first, plain.ID, "yes | head -c 1000000"); r.Error != nil {
		t.Fatal(r.Error)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	kept := []string{filepath.Join(config.StateDir, "sandboxes", plain.ID), filepath.Join(config.StateDir, statedir.Disks, onDisk.ID)}
	for _, path := range kept {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("a sandbox has no files on disk: %v", err)
		}
	}
	testutil.Kill(t, plain.PID)
	testutil.Kill(t, onDisk.PID)
	if err := os.RemoveAll(statedir.RunDir(config.RunDir, config.StateDir)); err != nil {
		t.Fatal(err)
	}
	e := testutil.Start(t, config)
	if list, err := e.Sandboxes(t.Context()); err != nil || slicesOf(list, plain.ID, onDisk.ID) {
		t.Errorf("after it there are %+v, %v", list, err)
	}
	for _, path := range kept {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a part of a sandbox is still on disk: %v", err)
		}
	}
	testutil.Eventually(t, "no device is left", func() bool { return loopsOn(t, config.StateDir) == 0 })
	awaitSlot(t, e, "a", yurt.SlotReady) // a slot goes on
}

func slicesOf(list []yurt.Sandbox, ids ...string) bool {
	for _, s := range list {
		for _, id := range ids {
			if s.ID == id {
				return true
			}
		}
	}
	return false
}

// TestStateDirectoryIsLost: the executor knows running sandboxes from the runtime directory.
func TestStateDirectoryIsLost(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	sandboxID, executionID := killMidway(t, config)
	if err := os.RemoveAll(config.StateDir); err != nil {
		t.Fatal(err)
	}
	e := testutil.Start(t, config)
	if r, err := e.WaitExecution(t.Context(), sandboxID, executionID); err != nil || strings.Count(r.Stdout, "\n") != 300 {
		t.Errorf("it has %+v, %v", r, err)
	}
}

// TestSandboxOfAVersionWithoutRunDir: it is taken over, and stays where it is.
func TestSandboxOfAVersionWithoutRunDir(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	base, err := os.MkdirTemp("", "yurt") // short, and one file system: a socket cannot be moved to another
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	config.StateDir, config.RunDir = filepath.Join(base, "state"), base
	sandboxID, executionID := killMidway(t, config)
	now := filepath.Join(statedir.RunDir(base, config.StateDir), "sandboxes", sandboxID)
	then := filepath.Join(config.StateDir, "sandboxes", sandboxID)
	if err := os.Rename(now, then); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it is adopted as often as it takes
		e := testutil.Open(t, config)
		if r, err := e.WaitExecution(t.Context(), sandboxID, executionID); err != nil || strings.Count(r.Stdout, "\n") != 300 {
			t.Errorf("it has %+v, %v", r, err)
		}
		if r := testutil.Run(t, e, sandboxID, "yes | head -c 1000000"); len(r.Stdout) != 1_000_000 || r.ExitCode != 0 {
			t.Errorf("it works on with %d bytes, %+v", len(r.Stdout), r.Error)
		}
		if _, err := os.Stat(now); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("something of it is in the runtime directory: %v", err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	testutil.Start(t, config)
}

// TestLargeLogsAreOnDisk: the host's memory holds the beginning of an execution's log, and
// of all logs together no more than is meant for them.
func TestLargeLogsAreOnDisk(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.RunDir = t.TempDir()
	first := testutil.Open(t, config)
	s := testutil.Create(t, first)
	size := func(dir, name string) int64 {
		t.Helper()
		info, err := os.Stat(filepath.Join(dir, "sandboxes", s.ID, "runs", name))
		if errors.Is(err, fs.ErrNotExist) {
			return -1
		}
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	memory := statedir.RunDir(config.RunDir, config.StateDir)
	const output = 3_000_000
	large := testutil.Command("yes | head -c 3000000")
	if r := testutil.Execute(t, first, s.ID, large); len(r.Stdout) != output {
		t.Fatalf("it printed %d bytes", len(r.Stdout))
	}
	if inMemory, onDisk := size(memory, large.ID), size(config.StateDir, large.ID); inMemory > 64<<10 || onDisk < output-64<<10 || onDisk > output*3/2 {
		t.Errorf("%d bytes are in memory and %d on disk", inMemory, onDisk)
	}
	node.SetLogMemory(first.Node, 0)
	small := testutil.Command("echo small")
	testutil.Execute(t, first, s.ID, small)
	if inMemory, onDisk := size(memory, small.ID), size(config.StateDir, small.ID); inMemory > 0 || onDisk < int64(len("small")) {
		t.Errorf("with no memory left, %d bytes are in memory and %d on disk", inMemory, onDisk)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	next := testutil.Start(t, config)
	for id, want := range map[string]string{large.ID: strings.Repeat("y\n", output/2), small.ID: "small\n"} {
		var seen strings.Builder
		err := next.WatchExecution(t.Context(), s.ID, id, 0, func(event yurt.Event) error {
			if event.Type == yurt.EventStdout {
				seen.Write(event.Data)
			}
			return nil
		})
		r, failure := next.WaitExecution(t.Context(), s.ID, id)
		if err := errors.Join(err, failure); err != nil || seen.String() != want || r.Stdout != want {
			t.Errorf("the next executor has %d and %d bytes of %d, %v", seen.Len(), len(r.Stdout), len(want), err)
		}
		if err := next.ForgetExecution(t.Context(), s.ID, id); err != nil {
			t.Error(err)
		}
		if inMemory, onDisk := size(memory, id), size(config.StateDir, id); inMemory != -1 || onDisk != -1 {
			t.Errorf("forgotten, it has %d bytes in memory and %d on disk", inMemory, onDisk)
		}
	}
}
