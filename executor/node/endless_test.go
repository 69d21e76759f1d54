package node_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/testutil"
)

// endless makes an execution one whose output goes to files in base/logs.
func endless(base string) func(*yurt.ExecutionSpec) {
	return func(s *yurt.ExecutionSpec) {
		s.Timeout, s.OutputLimit, s.Endless = 0, 0, true
		s.Logs = &yurt.LogFiles{Base: base, Dir: "logs", Stdout: "t.stdout", Stderr: "t.stderr", MaxFiles: 100, MaxSize: yurt.MinLogSize}
	}
}

func logged(t *testing.T, base, name string) (text string) {
	t.Helper()
	for i := 0; ; i++ {
		data, err := os.ReadFile(filepath.Join(base, "logs", fmt.Sprintf("%s.%d", name, i)))
		if err != nil {
			return text
		}
		text += string(data)
	}
}

// passing starts an executor that leaves its sandboxes to the next.
func passing(t testing.TB, config executor.Config) *executor.Executor {
	t.Helper()
	e := testutil.Open(t, config)
	return e
}

// The output of an endless execution is in its log files, all of it and once, although
// executors come and go while it prints.
func TestLogFilesOutliveExecutors(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.PluginDir = t.TempDir() // no languages, which take time to start
	base := t.TempDir()
	if err := os.Mkdir(filepath.Join(base, "logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	e := passing(t, config)
	s := testutil.Create(t, e)
	spec := testutil.Command("i=0; while [ $i -lt 400 ]; do echo $i a line that is long enough to fill files; echo e$i >&2; i=$((i+1)); sleep 0.005; done; exit 7", endless(base))
	if err := e.StartExecution(t.Context(), s.ID, spec); err != nil {
		t.Fatal(err)
	}
	for i, next := range []func(testing.TB, executor.Config) *executor.Executor{passing, testutil.Start} {
		lines := 100 * (i + 1)
		testutil.Eventually(t, fmt.Sprintf("%d lines to be logged", lines), func() bool { return strings.Count(logged(t, base, "t.stdout"), "\n") > lines })
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		e = next(t, config)
	}
	result, err := e.WaitExecution(t.Context(), s.ID, spec.ID)
	if err != nil || result.ExitCode != 7 || result.Error != nil || result.Stdout != "" || result.Truncated.Stdout {
		t.Fatalf("it ended with %+v, %v", result, err)
	}
	var out, errs strings.Builder
	for i := range 400 {
		fmt.Fprintln(&out, i, "a line that is long enough to fill files")
		fmt.Fprintf(&errs, "e%d\n", i)
	}
	if got := logged(t, base, "t.stdout"); got != out.String() {
		t.Errorf("stdout has %d bytes, want %d", len(got), out.Len())
	}
	if got := logged(t, base, "t.stderr"); got != errs.String() {
		t.Errorf("stderr has %d bytes, want %d", len(got), errs.Len())
	}
	if err := e.ForgetExecution(t.Context(), s.ID, spec.ID); err != nil {
		t.Error(err)
	}
}

// Code that is run through a plan has its result and its output apart.
func TestEndlessCode(t *testing.T) {
	testutil.NeedsSandboxes(t)
	e := testutil.Executor(t)
	base := t.TempDir()
	if err := os.Mkdir(filepath.Join(base, "logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := testutil.Create(t, e)
	spec := testutil.Python("import os\nprint('printed by', os.getuid(), os.getgid())", endless(base))
	spec.User = &yurt.User{UID: 4711, GID: 4712}
	if err := e.StartExecution(t.Context(), s.ID, spec); err != nil {
		t.Fatal(err)
	}
	result, err := e.WaitExecution(t.Context(), s.ID, spec.ID)
	if err != nil || result.ExitCode != 0 {
		t.Fatalf("it ended with %+v, %v", result, err)
	}
	if got := logged(t, base, "t.stdout"); got != "printed by 4711 4712\n" {
		t.Errorf("logged %q", got)
	}
}

// A program that cannot be started is an error at once, also for an execution that no caller waits for.
func TestEndlessThatCannotStart(t *testing.T) {
	testutil.NeedsSandboxes(t)
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	spec := testutil.Command("", func(s *yurt.ExecutionSpec) {
		s.Command, s.Timeout, s.OutputLimit, s.Endless = []string{"/no/such/program"}, 0, 0, true
	})
	err := e.StartExecution(t.Context(), s.ID, spec)
	if yurt.CodeOf(err) != yurt.CodeInvalidArgument || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("got %v, want an error about the command", err)
	}
	if _, err := e.WaitExecution(t.Context(), s.ID, spec.ID); yurt.CodeOf(err) != yurt.CodeExecutionNotFound {
		t.Errorf("it is still known: %v", err)
	}
}
