package node_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/statedir"
	"github.com/yurtrun/yurt/test/testutil"
)

// hostEnv makes the test binary play an executor of its own, to be killed.
const hostEnv = "YURT_TEST_EXECUTOR"

func TestMain(m *testing.M) {
	if config := os.Getenv(hostEnv); config != "" {
		if err := playExecutor(config); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// destroyEnv has that executor destroy its sandbox before it says so.
const destroyEnv = "YURT_TEST_DESTROY"

// playExecutor makes a sandbox, starts an execution in it that prints numbers, or one that is
// forked, says so, and waits to be killed.
func playExecutor(encoded string) error {
	var config executor.Config
	if err := json.Unmarshal([]byte(encoded), &config); err != nil {
		return err
	}
	e, err := executor.New(config)
	if err != nil {
		return err
	}
	ctx := context.Background()
	if err := e.Start(ctx); err != nil {
		return err
	}
	s, err := e.CreateSandbox(ctx, testutil.Spec())
	if err != nil {
		return err
	}
	spec := testutil.Command("i=0; while [ $i -lt 300 ]; do echo $i; i=$((i+1)); sleep 0.01; done")
	if os.Getenv(forkEnv) != "" {
		if spec, err = playFork(ctx, e, s.ID); err != nil {
			return err
		}
	}
	if err := e.StartExecution(ctx, s.ID, spec); err != nil {
		return err
	}
	if os.Getenv(destroyEnv) != "" {
		if err := e.DestroySandbox(ctx, s.ID); err != nil {
			return err
		}
	}
	fmt.Println(s.ID, spec.ID)
	select {}
}

func TestKilledExecutorIsFollowedByAnother(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	sandboxID, executionID := killMidway(t, config)

	e := testutil.Start(t, config)
	sandboxes, err := e.Sandboxes(t.Context())
	if err != nil || len(sandboxes) != 1 || sandboxes[0].ID != sandboxID || sandboxes[0].State != yurt.SandboxReady {
		t.Fatalf("it found %+v, %v", sandboxes, err)
	}
	r, err := e.WaitExecution(t.Context(), sandboxID, executionID)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for i := range 300 {
		fmt.Fprintln(&want, i)
	}
	if r.Stdout != want.String() || r.ExitCode != 0 {
		t.Errorf("exit %d, output lost or doubled: %d bytes of %d, %q…", r.ExitCode, len(r.Stdout), want.Len(), r.Stdout[:min(80, len(r.Stdout))])
	}
	if r := testutil.Run(t, e, sandboxID, "echo works on"); r.Stdout != "works on\n" {
		t.Errorf("%+v", r)
	}
}

// TestLeafThatWasNotNamed: an executor that is killed while its run is being started leaves
// the cgroup of it, on v1, as it was made ahead. The next one limits the run all the same.
func TestLeafThatWasNotNamed(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	first := testutil.Open(t, config)
	s := testutil.Create(t, first)
	spec := testutil.Command("(sleep 100 &); echo started; exec sleep 100")
	spec.Timeout = yurt.Duration(testutil.Moment(t, 3*time.Second))
	if err := first.StartExecution(t.Context(), s.ID, spec); err != nil {
		t.Fatal(err)
	}
	testutil.Eventually(t, "both sleep, and the shells between them are gone", func() bool {
		processes, err := first.Processes(t.Context(), s.ID)
		return err == nil && len(processes) == 2 && processes[0].Name == "sleep" && processes[1].Name == "sleep"
	})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	leaves, err := filepath.Glob(filepath.Join("/sys/fs/cgroup/*", statedir.CgroupName(config.StateDir), s.ID, "runs", spec.ID)) // empty on v2
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range leaves {
		if err := os.Rename(leaf, filepath.Join(filepath.Dir(leaf), "spare")); err != nil && !errors.Is(err, os.ErrNotExist) { // by another of its paths
			t.Fatal(err)
		}
	}

	e := testutil.Start(t, config)
	processes, err := e.Processes(t.Context(), s.ID)
	if err != nil || len(processes) != 2 || processes[0].ExecutionID != spec.ID || processes[1].ExecutionID != spec.ID {
		t.Errorf("its processes are %+v, %v", processes, err)
	}
	r := testutil.Run(t, e, s.ID, "echo beside it")
	if r.Stdout != "beside it\n" {
		t.Errorf("%+v", r)
	}
	if r := testutil.Wait(t, e, s.ID, spec.ID); r.Stdout != "started\n" || r.Error == nil || r.Error.Type != yurt.ErrorTypeTimeout {
		t.Errorf("it ended with %+v, %+v", r, r.Error)
	}
	testutil.Eventually(t, "the end of what it started", func() bool {
		left, err := e.Processes(t.Context(), s.ID)
		return err == nil && len(left) == 0
	})
}

// TestDestroyIsNotUndoneByACrash: a destroyed sandbox stays so, even if the executor was killed before it removed any
// part of it.
func TestDestroyIsNotUndoneByACrash(t *testing.T) {
	testutil.NeedsSandboxes(t)
	t.Setenv(destroyEnv, "1")
	config := testutil.Config(t, testutil.Build(t))
	killMidway(t, config)
	e := testutil.Start(t, config)
	if list, err := e.Sandboxes(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("it found %+v, %v", list, err)
	}
}

// killMidway runs an executor in a process of its own and kills it while its
// execution prints.
func killMidway(t *testing.T, config executor.Config) (sandboxID, executionID string) {
	t.Helper()
	config.Logger = nil
	encoded, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), hostEnv+"="+string(encoded))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the executor did not get far: %v", err)
	}
	if os.Getenv(destroyEnv) == "" {
		time.Sleep(500 * time.Millisecond)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if _, err := fmt.Sscan(line, &sandboxID, &executionID); err != nil {
		t.Fatal(err)
	}
	return sandboxID, executionID
}

func TestWhatIsDeadOrHalfMadeIsRemoved(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	sandboxID, _ := killMidway(t, config)
	path := filepath.Join(statedir.RunDir("", config.StateDir), "sandboxes", sandboxID, "sandbox.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// As if the kill had come before the record was written, which comes last.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	var record struct {
		Init struct {
			PID int `json:"pid"`
		} `json:"init"`
	}
	if err := json.Unmarshal(data, &record); err != nil {
		t.Fatal(err)
	}
	e := testutil.Start(t, config)
	if sandboxes, err := e.Sandboxes(t.Context()); err != nil || len(sandboxes) != 0 {
		t.Errorf("it kept %+v, %v", sandboxes, err)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d/root/.yurt-init", record.Init.PID)); err == nil {
		t.Error("its init still runs")
	}
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("its files are still there")
	}
}

func TestOneExecutorAStateDirectory(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	testutil.Start(t, config)
	if _, err := executor.New(config); yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("a second one on the same directory: %v", err)
	}
}

func TestAbandonedStateIsRemoved(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	killMidway(t, config)
	lock := filepath.Join(config.StateDir, "lock")
	remove := func() {
		t.Helper()
		if err := executor.RemoveAbandoned(config.StateDir); err != nil {
			t.Fatal(err)
		}
	}
	remove()
	if _, err := os.Stat(lock); err != nil {
		t.Fatal("a fresh directory was taken for abandoned")
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	e, err := executor.New(config)
	if err != nil {
		t.Fatal(err)
	}
	remove()
	if _, err := os.Stat(lock); err != nil {
		t.Fatal("a directory in use was removed")
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	format := filepath.Join(config.StateDir, records.FormatFile)
	if err := os.WriteFile(format, []byte(`{"format":99}`), 0o600); err != nil {
		t.Fatal(err)
	}
	remove()
	if _, err := os.Stat(lock); err != nil {
		t.Fatal("a directory of a newer version was removed")
	}
	if err := os.Remove(format); err != nil {
		t.Fatal(err)
	}
	remove()
	testutil.CheckNothingLeft(t, config.StateDir)
	if _, err := os.Stat(config.StateDir); err == nil {
		t.Error("the directory is still there")
	}
}

func TestKilledStateIsRemovedAtOnce(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.Transient = true
	e := testutil.Open(t, config)
	if err := executor.RemoveKilled(config.StateDir); err == nil {
		t.Error("the directory of an executor that runs was taken for abandoned")
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	killMidway(t, config)
	if err := executor.RemoveKilled(config.StateDir); err != nil {
		t.Fatal(err)
	}
	testutil.CheckNothingLeft(t, config.StateDir)
	if _, err := os.Stat(config.StateDir); err == nil {
		t.Error("the directory is still there")
	}
}

// An executor that is told to stop while it starts has not declared a living sandbox dead.
func TestStartThatIsGivenUpLosesNothing(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	sandboxID, executionID := killMidway(t, config)

	const steps = 16
	began := time.Now()
	giveUp(t, config, time.Hour)
	took := time.Since(began)
	for i := range steps {
		giveUp(t, config, took*time.Duration(i)/steps)
	}
	e := testutil.Start(t, config)
	if _, err := e.WaitExecution(t.Context(), sandboxID, executionID); err != nil {
		t.Fatal(err)
	}
}

// giveUp starts an executor for a time and closes it.
func giveUp(t *testing.T, config executor.Config, after time.Duration) {
	t.Helper()
	e, err := executor.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), after)
	defer cancel()
	if err := e.Start(ctx); err != nil && ctx.Err() == nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
