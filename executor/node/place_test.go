package node_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/node"
	"github.com/yurtrun/yurt/executor/statedir"
	"github.com/yurtrun/yurt/test/testutil"
)

// tree is Python that says whether it is a fork, and has a child that got away from its session.
const tree = "import os, time\nif os.fork() == 0: os.setsid()\nelse: print(" + isFork + ", flush=True)\nwhile True: time.sleep(0.01)"

// ofRuns counts the processes in a sandbox by the execution that they belong to, without
// those of zygotes.
func ofRuns(t *testing.T, e *executor.Executor, sandbox string) map[string]int {
	t.Helper()
	processes, err := e.Processes(t.Context(), sandbox)
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]int)
	for _, p := range processes {
		if !strings.HasPrefix(p.ExecutionID, "zygote-") {
			counts[p.ExecutionID]++
		}
	}
	return counts
}

// startFork starts code, and returns once it has said that it is a fork.
func startFork(t *testing.T, e *executor.Executor, sandbox string, spec yurt.ExecutionSpec) {
	t.Helper()
	if err := e.StartExecution(t.Context(), sandbox, spec); err != nil {
		t.Fatal(err)
	}
	awaitOutput(t, e, sandbox, spec.ID, "1\n")
}

// TestForksHaveCgroupsOfTheirOwn: each of those that run at once is in its own with all that it
// has started, is ended without the other, and is told of its own want of memory.
func TestForksHaveCgroupsOfTheirOwn(t *testing.T) {
	e, sandbox := zygoteSandbox(t, func(s *yurt.SandboxSpec) { s.Resources.Memory = 128 << 20 })
	a, b := testutil.Python(tree), testutil.Python(tree)
	startFork(t, e, sandbox, a)
	startFork(t, e, sandbox, b)
	if got := ofRuns(t, e, sandbox); len(got) != 2 || got[a.ID] != 2 || got[b.ID] != 2 {
		t.Errorf("processes %v", got)
	}
	r := testutil.Execute(t, e, sandbox, testutil.Python("print("+isFork+", flush=True)\nx = bytearray(512 << 20)"))
	testutil.WantErrorType(t, r, yurt.ErrorTypeOutOfMemory)
	if r.Stdout != "1\n" {
		t.Errorf("stdout %q", r.Stdout)
	}
	r = testutil.Execute(t, e, sandbox, testutil.Python("print("+isFork+")\nx = bytearray(16 << 20)\nfor i in range(10 ** 6): pass"))
	if r.Stdout != "1\n" || r.Error != nil || r.Metrics.MemoryPeakBytes < 16<<20 || r.Metrics.MemoryPeakBytes > 128<<20 || r.Metrics.CPUMS == 0 {
		t.Errorf("stdout %q, error %+v, used %+v", r.Stdout, r.Error, r.Metrics)
	}
	for _, id := range []string{a.ID, b.ID} {
		if err := e.SignalExecution(t.Context(), sandbox, id, yurt.SignalKill); err != nil {
			t.Error(err)
		}
		r := testutil.Wait(t, e, sandbox, id)
		testutil.WantErrorType(t, r, yurt.ErrorTypeSignaled)
		testutil.Eventually(t, "the end of all that it has started, and of nothing else", func() bool {
			got := ofRuns(t, e, sandbox)
			return got[id] == 0 && (id == b.ID || got[b.ID] == 2)
		})
	}
}

// TestForksThatWaitAreEnded: where the fork that waits for a run, and then the next one, was killed
// or stopped, the run is in its own cgroup all the same.
func TestForksThatWaitAreEnded(t *testing.T) {
	e, sandbox := zygoteSandbox(t)
	for _, attack := range []string{"os.kill(zygotes[1], signal.SIGKILL)", "os.kill(zygotes[1], signal.SIGSTOP)", "for pid in reversed(zygotes): os.kill(pid, signal.SIGKILL)"} {
		untilForked(t, e, sandbox)
		if r := testutil.Execute(t, e, sandbox, testutil.Python(findZygotes+attack)); r.Error != nil {
			t.Fatalf("error %+v, stderr %q", r.Error, r.Stderr)
		}
		spec := testutil.Python("print('on', flush=True)\nimport time\nwhile True: time.sleep(0.01)")
		if err := e.StartExecution(t.Context(), sandbox, spec); err != nil {
			t.Fatal(err)
		}
		awaitOutput(t, e, sandbox, spec.ID, "on\n")
		if got := ofRuns(t, e, sandbox); len(got) != 1 || got[spec.ID] != 1 {
			t.Errorf("processes %v after %s", got, attack)
		}
		if err := e.SignalExecution(t.Context(), sandbox, spec.ID, yurt.SignalKill); err != nil {
			t.Error(err)
		}
		testutil.Wait(t, e, sandbox, spec.ID)
	}
}

// forkEnv has the executor that is to be killed start a fork of a zygote, which may take as long as it says.
const forkEnv = "YURT_TEST_FORK"

// playFork runs Python until a run is a fork, and returns the specification of the next run.
func playFork(ctx context.Context, e *executor.Executor, sandbox string) (yurt.ExecutionSpec, error) {
	patience, err := time.ParseDuration(os.Getenv(forkEnv))
	if err != nil {
		return yurt.ExecutionSpec{}, err
	}
	node.GrantZygotes(e.Node, patience)
	for begun := time.Now(); time.Since(begun) < 2*patience; {
		probe := testutil.Python("print(" + isFork + ")")
		if err := e.StartExecution(ctx, sandbox, probe); err != nil {
			return probe, err
		}
		r, err := e.WaitExecution(ctx, sandbox, probe.ID)
		if err != nil || r.Stdout == "1\n" {
			return testutil.Python(tree), err
		}
	}
	return yurt.ExecutionSpec{}, errors.New("no run was forked from a zygote")
}

// TestForkOfAKilledExecutor: the next executor has the run, with its cgroup, and no zygote; nor
// is anything left of the fork that waited for the run after it.
func TestForkOfAKilledExecutor(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	t.Setenv(forkEnv, patience(t).String())
	sandbox, id := killMidway(t, config)

	e := testutil.Start(t, config)
	awaitOutput(t, e, sandbox, id, "1\n")
	processes, err := e.Processes(t.Context(), sandbox)
	if err != nil || len(processes) != 2 || processes[0].ExecutionID != id || processes[1].ExecutionID != id {
		t.Errorf("processes %+v, %v", processes, err)
	}
	leaves, err := filepath.Glob(filepath.Join("/sys/fs/cgroup", statedir.CgroupName(config.StateDir), sandbox, "runs/*/cgroup.procs")) // of v2
	if err != nil || len(leaves) > 1 {
		t.Errorf("cgroups %q, %v", leaves, err)
	}
	if err := e.SignalExecution(t.Context(), sandbox, id, yurt.SignalKill); err != nil {
		t.Error(err)
	}
	testutil.WantErrorType(t, testutil.Wait(t, e, sandbox, id), yurt.ErrorTypeSignaled)
	testutil.Eventually(t, "the end of all that it has started", func() bool { return len(ofRuns(t, e, sandbox)) == 0 })
	untilForked(t, e, sandbox)
}

// TestForksEndAtTheTimeoutForTheNextExecutor: also all that they have started.
func TestForksEndAtTheTimeoutForTheNextExecutor(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	first := testutil.Open(t, config)
	s := testutil.Create(t, first)
	untilForked(t, first, s.ID)
	spec := testutil.Python(tree, testutil.Timeout(testutil.Moment(t, 2*time.Second)))
	startFork(t, first, s.ID, spec)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	e := testutil.Start(t, config)
	testutil.WantErrorType(t, testutil.Wait(t, e, s.ID, spec.ID), yurt.ErrorTypeTimeout)
	testutil.Eventually(t, "the end of all that it has started", func() bool { return len(ofRuns(t, e, s.ID)) == 0 })
}
