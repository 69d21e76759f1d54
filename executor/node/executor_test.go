package node_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

func TestCommandResult(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e, func(s *yurt.SandboxSpec) { s.Env = map[string]string{"FROM_SANDBOX": "yes"} })
	tests := []struct {
		name, line     string
		change         func(*yurt.ExecutionSpec)
		exit           int
		stdout, stderr string
		kind           string
	}{
		{name: "output on both streams", line: "echo out; echo err >&2", stdout: "out\n", stderr: "err\n"},
		{name: "exit code", line: "exit 7", exit: 7},
		{name: "a signal of its own", line: "kill -SEGV $$", exit: 139, kind: yurt.ErrorTypeSignaled},
		{name: "stdin", line: "cat", change: func(s *yurt.ExecutionSpec) { s.Stdin = []byte("given") }, stdout: "given"},
		{name: "no stdin is an empty one", line: "cat; echo end", stdout: "end\n"},
		{name: "environment", line: "echo $FROM_SANDBOX $FROM_RUN $HOME", change: func(s *yurt.ExecutionSpec) { s.Env = map[string]string{"FROM_RUN": "too"} }, stdout: "yes too /workspace\n"},
		{name: "working directory", line: "pwd", change: func(s *yurt.ExecutionSpec) { s.Cwd = "/tmp" }, stdout: "/tmp\n"},
		{name: "command that is not there", change: func(s *yurt.ExecutionSpec) { s.Command = []string{"no-such-program"} }, exit: 127, kind: yurt.ErrorTypeCommandNotFound},
		{name: "file that is no program", change: func(s *yurt.ExecutionSpec) { s.Command = []string{"/etc/passwd"} }, exit: 127, kind: yurt.ErrorTypeCommandNotFound},
		{name: "found by PATH", change: func(s *yurt.ExecutionSpec) { s.Command = []string{"printf", "%s", "hi"} }, stdout: "hi"},
		{name: "output that is not UTF-8", line: `printf 'a\377b'`, stdout: "a�b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			change := tt.change
			if change == nil {
				change = func(*yurt.ExecutionSpec) {}
			}
			r := testutil.Run(t, e, s.ID, tt.line, change)
			if r.ExitCode != tt.exit || r.Stdout != tt.stdout || r.Stderr != tt.stderr {
				t.Errorf("got exit %d, stdout %q, stderr %q, error %+v; want %d, %q, %q", r.ExitCode, r.Stdout, r.Stderr, r.Error, tt.exit, tt.stdout, tt.stderr)
			}
			if tt.kind != "" {
				testutil.WantErrorType(t, r, tt.kind)
			} else if r.Error != nil {
				t.Errorf("unexpected error %+v", r.Error)
			}
		})
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	started := testutil.Command("sleep 100")
	if err := e.StartExecution(t.Context(), s.ID, started); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		spec yurt.ExecutionSpec
		want yurt.Code
	}{
		{"a working directory that is not there", testutil.Command("true", func(s *yurt.ExecutionSpec) { s.Cwd = "/nowhere" }), yurt.CodeInvalidArgument},
		{"the same id twice", started, yurt.CodeInvalidArgument},
		{"an id that is a path", testutil.Command("true", func(s *yurt.ExecutionSpec) { s.ID = "exe_../x" }), yurt.CodeInvalidArgument},
		{"an unknown language", testutil.Python("1", func(s *yurt.ExecutionSpec) { s.Language = "cobol" }), yurt.CodeLanguageNotSupported},
		{"no timeout", testutil.Command("true", testutil.Timeout(0)), yurt.CodeLimitOutOfRange},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := e.StartExecution(t.Context(), s.ID, tt.spec)
			if yurt.CodeOf(err) != tt.want {
				t.Errorf("got %v (%s), want %s", err, yurt.CodeOf(err), tt.want)
			}
		})
	}
	if r := testutil.Run(t, e, s.ID, "echo fine"); r.Stdout != "fine\n" {
		t.Errorf("the sandbox does not work any more: %+v", r)
	}
}

func TestTimeoutEndsTheWholeTree(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	// Processes that try to get away: another session, a double fork, ignored signals.
	line := `echo before
		setsid sh -c 'trap "" TERM HUP INT; while :; do sleep 0.2; done' &
		(sh -c 'setsid sleep 1000 & exit 0' &)
		trap "" TERM; while :; do sleep 0.1; done`
	r := testutil.Run(t, e, s.ID, line, testutil.Timeout(testutil.Moment(t, 500*time.Millisecond)))
	testutil.WantErrorType(t, r, yurt.ErrorTypeTimeout)
	if r.ExitCode != yurt.ExecutionExitTimeout || r.Stdout != "before\n" {
		t.Errorf("exit %d, stdout %q", r.ExitCode, r.Stdout)
	}
	if r := testutil.Run(t, e, s.ID, "ps -eo stat=,comm= | grep -v ^Z | grep -c sleep"); r.Stdout != "0\n" {
		t.Errorf("processes were left behind: %q", r.Stdout)
	}
}

func TestBackgroundProcessOutlivesItsExecution(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	began := time.Now()
	if r := testutil.Run(t, e, s.ID, "sleep 300 & echo started"); r.Stdout != "started\n" {
		t.Fatalf("%+v", r)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the execution waited %s for what it left in the background", took)
	}
	// Until it has called execve it has the shell's name.
	testutil.Eventually(t, "the process in the background sleeps", func() bool {
		return testutil.Run(t, e, s.ID, "ps -eo stat=,comm= | grep -v ^Z | grep -c sleep").Stdout == "1\n"
	})
}

func TestOutputBeyondTheCapIsCountedAndDropped(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	r := testutil.Run(t, e, s.ID, "head -c 104857600 /dev/zero | tr '\\0' x; echo done >&2", func(s *yurt.ExecutionSpec) { s.OutputLimit = 1 << 20 })
	if len(r.Stdout) != 1<<20 || !r.Truncated.Stdout || r.Truncated.Stderr || r.Metrics.StdoutBytes != 104857600 {
		t.Errorf("kept %d bytes, truncated %+v, counted %d", len(r.Stdout), r.Truncated, r.Metrics.StdoutBytes)
	}
	if r.Stderr != "done\n" || r.ExitCode != 0 {
		t.Errorf("the program did not finish: exit %d, %q", r.ExitCode, r.Stderr)
	}
}

func TestTinyWritesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	const writes = 1_000_000
	r := testutil.Execute(t, e, s.ID, testutil.Python(fmt.Sprintf("import os\nfor i in range(%d): os.write(1, b'%%d\\n' %% i)", writes)))
	if r.Error != nil {
		t.Fatal(r.Error)
	}
	next := 0
	for line := range strings.Lines(r.Stdout) {
		if line != fmt.Sprintf("%d\n", next) {
			t.Fatalf("line %d is %q", next, line)
		}
		next++
	}
	if next != writes {
		t.Errorf("%d lines of %d came", next, writes)
	}
}

func TestEventsAreNumberedAndReplayed(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	spec := testutil.Command("echo one; sleep 0.2; echo two; sleep 0.2; printf 'h\\303\\251' >&2")
	if err := e.StartExecution(t.Context(), s.ID, spec); err != nil {
		t.Fatal(err)
	}
	watch := func(after uint64) (events []yurt.Event) {
		err := e.WatchExecution(t.Context(), s.ID, spec.ID, after, func(ev yurt.Event) error {
			events = append(events, ev)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return events
	}
	all := watch(0)
	for i, ev := range all {
		if ev.Seq != uint64(i+1) {
			t.Errorf("event %d has number %d", i, ev.Seq)
		}
	}
	if first, last := all[0], all[len(all)-1]; first.Type != yurt.EventStarted || last.Type != yurt.EventEnded || last.Result.Stdout != "one\ntwo\n" || last.Result.Stderr != "hé" {
		t.Errorf("events are %+v", all)
	}
	if again := watch(2); len(again) != len(all)-2 || again[0].Seq != 3 {
		t.Errorf("a replay after 2 gave %d of %d events", len(again), len(all))
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	shared := testutil.Create(t, e)
	var group errgroup.Group
	for i := range 20 {
		group.Go(func() error {
			r := testutil.Run(t, e, shared.ID, fmt.Sprintf("echo start %d; sleep 0.1; echo %d", i, i))
			if want := fmt.Sprintf("start %d\n%d\n", i, i); r.Stdout != want {
				return fmt.Errorf("run %d in one sandbox gave %q", i, r.Stdout)
			}
			return nil
		})
		group.Go(func() error {
			own := testutil.Create(t, e)
			r := testutil.Run(t, e, own.ID, fmt.Sprintf("cat /workspace/* 2>/dev/null; echo %d > /workspace/f; cat /workspace/f", i))
			if want := fmt.Sprintf("%d\n", i); r.Stdout != want {
				return fmt.Errorf("run %d in its own sandbox gave %q", i, r.Stdout)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}

func TestPythonThroughThePlugin(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	handler := testutil.Python("def handler(event, context):\n    print('hi')\n    return {'got': event['x'] * 2}", func(s *yurt.ExecutionSpec) {
		s.Kind, s.Handler, s.Event = yurt.KindHandler, "handler", []byte(`{"x": 21}`)
	})
	if r := testutil.Execute(t, e, s.ID, handler); string(r.Result) != `{"got": 42}` && string(r.Result) != `{"got":42}` || r.Stdout != "hi\n" || r.Error != nil {
		t.Errorf("result %s, stdout %q, error %+v", r.Result, r.Stdout, r.Error)
	}
	r := testutil.Execute(t, e, s.ID, testutil.Python("def f():\n    raise ValueError('no')\nf()"))
	testutil.WantErrorType(t, r, "ValueError")
	if trace := strings.Join(r.Error.Stacktrace, "\n"); !strings.Contains(trace, "raise ValueError") || strings.Contains(trace, "harness") {
		t.Errorf("the stack trace is not the user's lines alone:\n%s", trace)
	}
	testutil.WantErrorType(t, testutil.Execute(t, e, s.ID, testutil.Python("def (")), yurt.ErrorTypeSyntax)
	testutil.Eventually(t, "executions leave no files behind", func() bool { // an interpreter that waits has its own
		return testutil.Run(t, e, s.ID, "ls /run/yurt | grep -vEc '^zygote-|^packages.sock$'").Stdout == "0\n"
	})
}

func TestSandboxThatDiesIsReported(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	died := make(chan yurt.Sandbox, 8)
	go e.WatchSandboxes(t.Context(), func(s yurt.Sandbox) { died <- s })
	spec := testutil.Command("echo begun; sleep 100")
	if err := e.StartExecution(t.Context(), s.ID, spec); err != nil {
		t.Fatal(err)
	}
	begun := errors.New("it has begun")
	err := e.WatchExecution(t.Context(), s.ID, spec.ID, 0, func(ev yurt.Event) error {
		if ev.Type == yurt.EventStdout {
			return begun
		}
		return nil
	})
	if !errors.Is(err, begun) {
		t.Fatal(err)
	}
	testutil.Kill(t, s.PID)
	select {
	case view := <-died:
		if view.ID != s.ID || view.State != yurt.SandboxDead || view.Reason == "" {
			t.Errorf("reported %+v", view)
		}
	case <-time.After(time.Minute):
		t.Fatal("its end was not reported")
	}
	r, err := e.WaitExecution(t.Context(), s.ID, spec.ID)
	if err != nil {
		t.Fatal(err)
	}
	testutil.WantErrorType(t, r, yurt.ErrorTypeSandboxLost)
	if r.Stdout != "begun\n" {
		t.Errorf("partial output is lost: %q", r.Stdout)
	}
	if err := e.StartExecution(t.Context(), s.ID, testutil.Command("true")); yurt.CodeOf(err) != yurt.CodeSandboxFailed {
		t.Errorf("a dead sandbox took an execution: %v", err)
	}
}

// TestOutputInCrumbs: yurt-init counts more for a chunk than its one byte, and the executor has to acknowledge the
// chunks before their cost reaches the bound. Crumbs that are read one by one, as those with a pause are, exceed that
// bound.
func TestOutputInCrumbs(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	ctx, cancel := context.WithTimeout(t.Context(), testutil.Moment(t, 3*time.Minute))
	defer cancel()
	spec := testutil.Python("import os, time\nfor _ in range(20000):\n    os.write(1, b'x')\n    time.sleep(0.0001)")
	if err := e.StartExecution(ctx, s.ID, spec); err != nil {
		t.Fatal(err)
	}
	r, err := e.WaitExecution(ctx, s.ID, spec.ID)
	if err != nil || len(r.Stdout) != 20000 || r.ExitCode != 0 {
		t.Errorf("got %+v, %v", r, err)
	}
}
