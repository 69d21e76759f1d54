package node_test

import (
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/testutil"
)

const counting = "i=0; while :; do echo $i; i=$((i+1)); sleep 0.01; done"

func pause(t testing.TB, e *executor.Executor, sandbox string) {
	t.Helper()
	if err := e.PauseSandbox(t.Context(), sandbox); err != nil {
		t.Fatal(err)
	}
}

func resume(t testing.TB, e *executor.Executor, sandbox string) {
	t.Helper()
	if err := e.ResumeSandbox(t.Context(), sandbox); err != nil {
		t.Fatal(err)
	}
}

func cpu(t testing.TB, e *executor.Executor, sandbox string) float64 {
	t.Helper()
	stats, err := e.SandboxStats(t.Context(), sandbox)
	if err != nil {
		t.Fatal(err)
	}
	return stats.CPUSeconds
}

func TestPausedSandboxStandsStill(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	busy := begin(t, e, s.ID, "echo up; setsid sh -c 'while :; do :; done' & while :; do :; done")
	awaitOutput(t, e, s.ID, busy, "up")
	pause(t, e, s.ID)
	before := cpu(t, e, s.ID)
	time.Sleep(300 * time.Millisecond) // for events that should not happen
	if used := cpu(t, e, s.ID) - before; used > 0.1 {
		t.Errorf("it used %.3f s of CPU time while paused", used)
	}
	if list, err := e.Sandboxes(t.Context()); err != nil || list[0].State != yurt.SandboxPaused {
		t.Errorf("it is said to be %+v, %v", list, err)
	}
	if err := e.StartExecution(t.Context(), s.ID, testutil.Command("true")); yurt.CodeOf(err) != yurt.CodeIllegalTransition {
		t.Errorf("starting something in it: %v", err)
	}
	pause(t, e, s.ID) // a second pause has no effect
	if err := e.SignalExecution(t.Context(), s.ID, busy, yurt.SignalKill); err != nil {
		t.Fatal(err)
	}
	if r := testutil.Wait(t, e, s.ID, busy); r.ExitCode != 137 {
		t.Errorf("killed while paused: %+v", r)
	}
	resume(t, e, s.ID)
	resume(t, e, s.ID)
	if r := testutil.Run(t, e, s.ID, "echo works on"); r.Stdout != "works on\n" {
		t.Errorf("got %+v", r)
	}
}

func TestTimeoutsStandStillWhilePaused(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	limit := testutil.Moment(t, 4*time.Second)
	cat := begin(t, e, s.ID, "cat", stdinOpen, testutil.Timeout(limit))
	late := begin(t, e, s.ID, "sleep 1000", testutil.Timeout(limit))
	pause(t, e, s.ID)
	time.Sleep(limit + 500*time.Millisecond) // longer than they may run
	resume(t, e, s.ID)
	write(t, e, s.ID, cat, "in time", true)
	if r := testutil.Wait(t, e, s.ID, cat); r.Stdout != "in time" || r.Error != nil {
		t.Errorf("got %q, %+v", r.Stdout, r.Error)
	}
	testutil.WantErrorType(t, testutil.Wait(t, e, s.ID, late), yurt.ErrorTypeTimeout)
}

func TestPausedSandboxIsDestroyed(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	id := begin(t, e, s.ID, counting)
	awaitOutput(t, e, s.ID, id, "1\n")
	pause(t, e, s.ID)
	if err := e.DestroySandbox(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
}

func TestPauseOutlivesTheExecutor(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	first := testutil.Open(t, config)
	s := testutil.Create(t, first)
	id := begin(t, first, s.ID, counting, testutil.Timeout(time.Minute))
	awaitOutput(t, first, s.ID, id, "1\n")
	pause(t, first, s.ID)
	if err := first.Close(); err != nil {
		t.Error(err)
	}

	e := testutil.Start(t, config)
	if list, err := e.Sandboxes(t.Context()); err != nil || len(list) != 1 || list[0].State != yurt.SandboxPaused {
		t.Fatalf("it found %+v, %v", list, err)
	}
	before := cpu(t, e, s.ID)
	time.Sleep(200 * time.Millisecond) // for events that should not happen
	if used := cpu(t, e, s.ID) - before; used > 0.1 {
		t.Errorf("it used %.3f s of CPU time", used)
	}
	resume(t, e, s.ID)
	awaitOutput(t, e, s.ID, id, "\n50\n")
	if err := e.SignalExecution(t.Context(), s.ID, id, 15); err != nil {
		t.Fatal(err)
	}
	testutil.WantErrorType(t, testutil.Wait(t, e, s.ID, id), yurt.ErrorTypeSignaled)
}

func TestProcesses(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	left := begin(t, e, s.ID, "setsid sleep 1000 & echo $!")
	testutil.Wait(t, e, s.ID, left)
	runs := begin(t, e, s.ID, "echo up; sleep 2000; true")
	awaitOutput(t, e, s.ID, runs, "up")
	var sleeper yurt.Process
	testutil.Eventually(t, "both sleep", func() bool {
		list, err := e.Processes(t.Context(), s.ID)
		if err != nil {
			t.Fatal(err)
		}
		args := "\n"
		for _, p := range list {
			args += strings.Join(p.Args, " ") + "@" + p.ExecutionID + "\n"
			if p.ExecutionID == left {
				sleeper = p
			}
		}
		// At the start of a line: setsid has called execve. Name and arguments are of one program.
		return strings.Contains(args, "\nsleep 1000@"+left) && strings.Contains(args, "\nsleep 2000@"+runs) && len(list) == 3
	})
	if sleeper.Name != "sleep" || sleeper.PID < 2 || sleeper.ParentPID != 1 || sleeper.State == "" || sleeper.MemoryBytes == 0 {
		t.Errorf("it is described as %+v", sleeper)
	}
	if err := e.SignalProcess(t.Context(), s.ID, sleeper.PID, 15); err != nil {
		t.Fatal(err)
	}
	testutil.Eventually(t, "it is gone", func() bool {
		list, err := e.Processes(t.Context(), s.ID)
		return err == nil && len(list) == 2
	})
	for _, pid := range []int{sleeper.PID, 1, 0, -1} {
		if err := e.SignalProcess(t.Context(), s.ID, pid, 9); yurt.CodeOf(err) != yurt.CodeProcessNotFound {
			t.Errorf("signalling process %d: %v", pid, err)
		}
	}
}

func TestSandboxStats(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	id := begin(t, e, s.ID, "head -c 20000000 /dev/zero >/workspace/file; echo up; sleep 1000")
	awaitOutput(t, e, s.ID, id, "up")
	stats, err := e.SandboxStats(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	limits := yurt.DefaultResources()
	if stats.CPUSeconds <= 0 || stats.CPULimit != limits.CPU || stats.MemoryBytes < 20000000 || stats.MemoryPeakBytes < stats.MemoryBytes/2 ||
		stats.MemoryLimitBytes != int64(limits.Memory) || stats.PIDs < 1 || stats.PIDs > 4 || stats.PIDsLimit != limits.PIDs ||
		stats.DiskBytes < 20000000 || stats.DiskLimitBytes != int64(limits.Disk) || stats.NetworkRxBytes != 0 {
		t.Errorf("got %+v", stats)
	}
}

// TestCreateSaysWhereItsTimeGoes: each step of a create is a part of the whole.
func TestCreateSaysWhereItsTimeGoes(t *testing.T) {
	e := testutil.Executor(t)
	phases := testutil.Create(t, e).Phases
	for _, step := range []string{"launch", "init", "total"} {
		if phases[step] <= 0 {
			t.Errorf("nothing is said of %s: %v", step, phases)
		}
	}
	if phases["launch"]+phases["init"] > phases["total"] {
		t.Errorf("the steps are more than the whole: %v", phases)
	}
}
