package node_test

import (
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/smalldisk"
	"github.com/yurtrun/yurt/test/testutil"
)

// wantFull fails the test unless the error says that the node's disk is full, and names no path.
func wantFull(t *testing.T, what string, disk *smalldisk.Disk, err error) {
	t.Helper()
	if yurt.CodeOf(err) != yurt.CodeDiskFull || !strings.Contains(err.Error(), "disk of node test is full") || strings.Contains(err.Error(), disk.Dir) || strings.Contains(err.Error(), "/run") {
		t.Errorf("%s: error %v with code %s", what, err, yurt.CodeOf(err))
	}
}

// TestFullDisk fills the disk of the state directory, with the runtime directory on it or in memory. Running
// executions go on, with less output, no sandbox or execution begins, and sandboxes can be destroyed. Room on the disk
// is enough to recover.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	for name, separate := range map[string]bool{"runtime directory on the disk": false, "runtime directory in memory": true} {
		t.Run(name, func(t *testing.T) {
			disk := smalldisk.Ext4(t, 32<<20)
			config := testutil.Config(t, testutil.Build(t))
			config.StateDir = disk.Dir + "/state"
			if !separate {
				config.RunDir = disk.Dir
			}
			e := testutil.Start(t, config)
			s, other := testutil.Create(t, e), testutil.Create(t, e)
			const line = "echo begun; while ! [ -e /workspace/go ]; do sleep 0.02; done; head -c 1000000 /dev/zero | tr '\\0' x; echo; echo end >&2; exit 7"
			runs := begin(t, e, s.ID, line)
			awaitOutput(t, e, s.ID, runs, "begun\n")
			disk.Fill()

			_, err := e.CreateSandbox(t.Context(), testutil.Spec())
			wantFull(t, "creating a sandbox", disk, err)
			wantFull(t, "executing", disk, e.StartExecution(t.Context(), s.ID, testutil.Command("true")))
			if !separate {
				wantFull(t, "pausing", disk, e.PauseSandbox(t.Context(), other.ID))
				if list, err := e.Sandboxes(t.Context()); err != nil || list[0].State != yurt.SandboxReady || list[1].State != yurt.SandboxReady {
					t.Errorf("after a pause that failed: %+v, %v", list, err)
				}
			}
			if c, err := e.Capacity(t.Context()); err != nil || !c.DiskFull {
				t.Errorf("the node announces %+v, %v", c, err)
			}
			wantCut(t, e, s.ID, runs)
			if err := e.DestroySandbox(t.Context(), other.ID); err != nil {
				t.Errorf("destroying a sandbox: %v", err)
			}
			testutil.Eventually(t, "the sandbox is gone", func() bool {
				list, err := e.Sandboxes(t.Context())
				return err == nil && len(list) == 1
			})

			disk.Free()
			if r := testutil.Run(t, e, s.ID, "echo works"); r.Stdout != "works\n" {
				t.Errorf("once there is room: %+v", r)
			}
			testutil.Create(t, e)
		})
	}
}

// wantCut lets the execution go on, which writes more than there is room for, and wants its end.
func wantCut(t *testing.T, e *executor.Executor, sandbox, id string) {
	t.Helper()
	if _, err := e.WriteFile(t.Context(), sandbox, "go", strings.NewReader(""), yurt.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	r := testutil.Wait(t, e, sandbox, id)
	if r.Error != nil || r.ExitCode != 7 || !strings.HasPrefix(r.Stdout, "begun\n") || len(r.Stdout) > 900_000 || !r.Truncated.Stdout || r.Metrics.StdoutBytes < 1_000_000 {
		t.Errorf("it ended with exit code %d, error %+v, %d bytes of output, truncated %+v, %d bytes written", r.ExitCode, r.Error, len(r.Stdout), r.Truncated, r.Metrics.StdoutBytes)
	}
	last := yurt.Event{}
	err := e.WatchExecution(t.Context(), sandbox, id, 0, func(event yurt.Event) error { last = event; return nil })
	if err != nil || last.Type != yurt.EventEnded || last.Result.ExitCode != 7 {
		t.Errorf("a watcher's last event is %+v, %v", last, err)
	}
}

// TestStartOnAFullDisk: an executor takes over running sandboxes, and can end them.
func TestStartOnAFullDisk(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	disk := smalldisk.Ext4(t, 32<<20)
	config := testutil.Config(t, testutil.Build(t))
	config.StateDir = disk.Dir + "/state"
	config.RunDir = disk.Dir
	first := testutil.Open(t, config)
	s := testutil.Create(t, first)
	runs := begin(t, first, s.ID, "while ! [ -e /workspace/go ]; do sleep 0.02; done; exit 7")
	disk.Fill()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	e := testutil.Start(t, config)
	disk.Fill()
	if _, err := e.WriteFile(t.Context(), s.ID, "go", strings.NewReader(""), yurt.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if r := testutil.Wait(t, e, s.ID, runs); r.ExitCode != 7 {
		t.Errorf("it ended with exit code %d, error %+v", r.ExitCode, r.Error)
	}
	if err := e.DestroySandbox(t.Context(), s.ID); err != nil {
		t.Error(err)
	}
	disk.Free()
	begun := time.Now()
	testutil.Eventually(t, "there is room for sandboxes", func() bool {
		made, err := e.CreateSandbox(t.Context(), testutil.Spec())
		return err == nil && made.ID != ""
	})
	if took := time.Since(begun); took > testutil.Moment(t, 5*time.Second) {
		t.Errorf("it took %s to notice the room", took)
	}
}
