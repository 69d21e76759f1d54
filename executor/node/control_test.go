package node_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/testutil"
)

func stdinOpen(s *yurt.ExecutionSpec) { s.StdinOpen = true }

func terminal(s *yurt.ExecutionSpec) { s.Terminal = &yurt.TerminalSize{Rows: 24, Cols: 80} }

// begin starts a shell line and returns its id.
func begin(t testing.TB, e *executor.Executor, sandbox, line string, change ...func(*yurt.ExecutionSpec)) string {
	t.Helper()
	spec := testutil.Command(line, change...)
	if err := e.StartExecution(t.Context(), sandbox, spec); err != nil {
		t.Fatalf("starting %q: %v", line, err)
	}
	return spec.ID
}

// awaitOutput returns once the execution has written the text.
func awaitOutput(t testing.TB, e *executor.Executor, sandbox, id, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	found := errors.New("found")
	var out strings.Builder
	err := e.WatchExecution(ctx, sandbox, id, 0, func(event yurt.Event) error {
		out.Write(event.Data)
		if strings.Contains(out.String(), text) {
			return found
		}
		return nil
	})
	if !errors.Is(err, found) {
		t.Fatalf("it did not write %q but %q: %v", text, out.String(), err)
	}
}

func write(t testing.TB, e *executor.Executor, sandbox, id, text string, eof bool) {
	t.Helper()
	if err := e.WriteStdin(t.Context(), sandbox, id, []byte(text), eof); err != nil {
		t.Fatalf("writing %q: %v", text, err)
	}
}

// TestWriteThatEndsAnExecution is done, and does not come too late.
func TestWriteThatEndsAnExecution(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	e := testutil.Start(t, testutil.Config(t, testutil.Build(t)))
	s := testutil.Create(t, e)
	var writers sync.WaitGroup
	for range 40 {
		id := begin(t, e, s.ID, "read line", stdinOpen)
		writers.Go(func() {
			if err := e.WriteStdin(t.Context(), s.ID, id, []byte("\n"), false); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
}

func TestStdinWhileItRuns(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	id := begin(t, e, s.ID, "cat", stdinOpen, func(s *yurt.ExecutionSpec) { s.Stdin = []byte("first\n") })
	write(t, e, s.ID, id, "second\n", false)
	awaitOutput(t, e, s.ID, id, "first\nsecond\n")
	write(t, e, s.ID, id, "third", true)
	if r := testutil.Wait(t, e, s.ID, id); r.Stdout != "first\nsecond\nthird" || r.ExitCode != 0 {
		t.Errorf("got %q, exit %d, %+v", r.Stdout, r.ExitCode, r.Error)
	}
	t.Run("more than anything holds, to a slow reader", func(t *testing.T) {
		id := begin(t, e, s.ID, "sleep 0.2; wc -c", stdinOpen)
		write(t, e, s.ID, id, strings.Repeat("x", 3<<20), false)
		write(t, e, s.ID, id, "", true)
		if r := testutil.Wait(t, e, s.ID, id); strings.TrimSpace(r.Stdout) != "3145728" {
			t.Errorf("it read %s", r.Stdout)
		}
	})
	t.Run("what does not read is left in peace", func(t *testing.T) {
		id := begin(t, e, s.ID, "read line; echo $line", stdinOpen)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stuck := begin(t, e, s.ID, "echo up; exec sleep 100", stdinOpen)
		awaitOutput(t, e, s.ID, stuck, "up")
		written := make(chan error)
		go func() { written <- e.WriteStdin(ctx, s.ID, stuck, make([]byte, 1<<20), false) }()
		write(t, e, s.ID, id, "another is not held up\n", false)
		if r := testutil.Wait(t, e, s.ID, id); r.Stdout != "another is not held up\n" {
			t.Errorf("got %q", r.Stdout)
		}
		cancel()
		if err := <-written; !errors.Is(err, context.Canceled) {
			t.Errorf("the writer that gave up got %v", err)
		}
		if err := e.SignalExecution(t.Context(), s.ID, stuck, yurt.SignalKill); err != nil {
			t.Fatal(err)
		}
		testutil.Wait(t, e, s.ID, stuck)
	})
}

func TestStdinThatIsNotThere(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	closed := begin(t, e, s.ID, "exec sleep 100")
	deaf := begin(t, e, s.ID, "exec <&-; echo deaf; exec sleep 100", stdinOpen)
	awaitOutput(t, e, s.ID, deaf, "deaf")
	finished := begin(t, e, s.ID, "cat >/dev/null; echo done; exec sleep 100", stdinOpen)
	write(t, e, s.ID, finished, "x", true)
	awaitOutput(t, e, s.ID, finished, "done")
	ended := begin(t, e, s.ID, "true", stdinOpen)
	testutil.Wait(t, e, s.ID, ended)
	for id, want := range map[string]yurt.Code{
		closed: yurt.CodeStdinClosed, deaf: yurt.CodeStdinClosed, finished: yurt.CodeStdinClosed,
		ended: yurt.CodeExecutionEnded, yurt.NewExecutionID(): yurt.CodeExecutionNotFound,
	} {
		if err := e.WriteStdin(t.Context(), s.ID, id, []byte("x"), false); yurt.CodeOf(err) != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := e.ResizeExecution(t.Context(), s.ID, closed, yurt.TerminalSize{Rows: 1, Cols: 1}); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
		t.Errorf("resizing what has no terminal: %v", err)
	}
}

func TestSignalAnExecution(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	t.Run("it can be caught", func(t *testing.T) {
		id := begin(t, e, s.ID, "trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.02; done")
		awaitOutput(t, e, s.ID, id, "ready")
		if err := e.SignalExecution(t.Context(), s.ID, id, 2); err != nil {
			t.Fatal(err)
		}
		if r := testutil.Wait(t, e, s.ID, id); r.ExitCode != 3 || r.Stdout != "ready\ncaught\n" || r.Error != nil {
			t.Errorf("got %+v", r)
		}
		if err := e.SignalExecution(t.Context(), s.ID, id, 2); yurt.CodeOf(err) != yurt.CodeExecutionEnded {
			t.Errorf("signalling what has ended: %v", err)
		}
	})
	t.Run("kill ends the whole tree", func(t *testing.T) {
		id := begin(t, e, s.ID, "setsid sleep 1000 & trap '' TERM; echo ready; while :; do sleep 0.02; done")
		awaitOutput(t, e, s.ID, id, "ready")
		if err := e.SignalExecution(t.Context(), s.ID, id, 15); err != nil {
			t.Fatal(err) // which it ignores
		}
		if err := e.SignalExecution(t.Context(), s.ID, id, yurt.SignalKill); err != nil {
			t.Fatal(err)
		}
		if r := testutil.Wait(t, e, s.ID, id); r.ExitCode != 137 {
			t.Errorf("got %+v", r)
		}
		if r := testutil.Run(t, e, s.ID, "cat /proc/[0-9]*/comm"); strings.Contains(r.Stdout, "sleep") {
			t.Errorf("left over: %q", r.Stdout)
		}
	})
	for _, perExecution := range []bool{false, true} {
		t.Run(fmt.Sprintf("the first process alone, with namespaces of its own: %t", perExecution), func(t *testing.T) {
			signalAlone(t, e, testutil.Create(t, e, func(s *yurt.SandboxSpec) { s.Template.Isolation.PerExecution = perExecution }))
		})
	}
	for _, signal := range []yurt.Signal{0, -1, 65} {
		if err := e.SignalExecution(t.Context(), s.ID, yurt.NewExecutionID(), signal); yurt.CodeOf(err) != yurt.CodeInvalidArgument {
			t.Errorf("signal %d: %v", signal, err)
		}
	}
}

// signalAlone sends signals to a shell that has a child in its group: the child ends by the
// last of them, which goes to the whole group.
func signalAlone(t *testing.T, e *executor.Executor, s yurt.Sandbox) {
	t.Helper()
	id := begin(t, e, s.ID, `trap 'echo reloaded' HUP; sleep 1000 & child=$!; echo ready
while wait $child; [ $? -gt 128 ] && kill -0 $child 2>/dev/null; do :; done; echo the child ended`)
	awaitOutput(t, e, s.ID, id, "ready")
	if err := e.SignalMain(t.Context(), s.ID, id, 1); err != nil {
		t.Fatal(err)
	}
	awaitOutput(t, e, s.ID, id, "reloaded")
	if err := e.SignalMain(t.Context(), s.ID, id, 1); err != nil {
		t.Fatal(err)
	}
	awaitOutput(t, e, s.ID, id, "reloaded\nreloaded")
	if err := e.SignalExecution(t.Context(), s.ID, id, 1); err != nil {
		t.Fatal(err)
	}
	if r := testutil.Wait(t, e, s.ID, id); !strings.HasPrefix(r.Stdout, "ready\nreloaded\nreloaded\n") || !strings.HasSuffix(r.Stdout, "the child ended\n") {
		t.Errorf("it printed %q", r.Stdout)
	}
	stubborn := begin(t, e, s.ID, "trap '' TERM; echo ready; sleep 1000")
	awaitOutput(t, e, s.ID, stubborn, "ready")
	if err := e.SignalMain(t.Context(), s.ID, stubborn, yurt.SignalKill); err != nil {
		t.Fatal(err)
	}
	if r := testutil.Wait(t, e, s.ID, stubborn); r.ExitCode != 137 {
		t.Errorf("killed, it ended with %d", r.ExitCode)
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	t.Run("it is one, of the user's own", func(t *testing.T) {
		r := testutil.Execute(t, e, s.ID, testutil.Python(`
import os
print([os.isatty(fd) for fd in (0, 1, 2)], os.get_terminal_size(), os.environ["TERM"])
open(os.ttyname(0)).close()
open("/dev/tty").close()
print(os.tcgetpgrp(0) == os.getpgrp())`, terminal))
		want := "[True, True, True] os.terminal_size(columns=80, lines=24) xterm-256color\r\nTrue\r\n"
		if r.Stdout != want || r.ExitCode != 0 {
			t.Errorf("got %q, exit %d, %+v", r.Stdout, r.ExitCode, r.Error)
		}
	})
	t.Run("resize", func(t *testing.T) {
		id := begin(t, e, s.ID, "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.02; done", terminal)
		awaitOutput(t, e, s.ID, id, "ready")
		if err := e.ResizeExecution(t.Context(), s.ID, id, yurt.TerminalSize{Rows: 50, Cols: 132}); err != nil {
			t.Fatal(err)
		}
		if r := testutil.Wait(t, e, s.ID, id); !strings.HasSuffix(r.Stdout, "50 132\r\n") {
			t.Errorf("got %q", r.Stdout)
		}
	})
	t.Run("Ctrl-C and Ctrl-D", func(t *testing.T) {
		id := begin(t, e, s.ID, "trap 'echo interrupted' INT; cat; cat; echo end", terminal)
		write(t, e, s.ID, id, "ready\n", false)
		awaitOutput(t, e, s.ID, id, "ready\r\nready") // its echo, and then the output of cat
		write(t, e, s.ID, id, "\x03", false)
		awaitOutput(t, e, s.ID, id, "interrupted\r\n")
		write(t, e, s.ID, id, "line\n", true)
		if r := testutil.Wait(t, e, s.ID, id); !strings.HasSuffix(r.Stdout, "line\r\nline\r\nend\r\n") {
			t.Errorf("got %q", r.Stdout)
		}
	})
	t.Run("what it leaves behind holds nothing up", func(t *testing.T) {
		r := testutil.Run(t, e, s.ID, "trap '' HUP; sleep 1000 & echo $!", terminal)
		if r.ExitCode != 0 || strings.TrimSpace(r.Stdout) == "" {
			t.Errorf("got %+v", r)
		}
	})
	if err := e.StartExecution(t.Context(), s.ID, testutil.Command("true", func(s *yurt.ExecutionSpec) { s.Terminal = &yurt.TerminalSize{Cols: 1} })); yurt.CodeOf(err) != yurt.CodeLimitOutOfRange {
		t.Errorf("a terminal without rows: %v", err)
	}
}

// TestStdinOutlivesTheExecutor: otherwise an upgrade of the node would end every program that reads its user's input.
func TestStdinOutlivesTheExecutor(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	first := testutil.Open(t, config)
	s := testutil.Create(t, first)
	cat := begin(t, first, s.ID, "cat", stdinOpen)
	shell := begin(t, first, s.ID, "read line; echo it read $line; stty size", terminal)
	write(t, first, s.ID, cat, "before ", false)
	if err := first.Close(); err != nil {
		t.Error(err)
	}

	e := testutil.Start(t, config)
	write(t, e, s.ID, cat, "and after", true)
	if r := testutil.Wait(t, e, s.ID, cat); r.Stdout != "before and after" {
		t.Errorf("got %q", r.Stdout)
	}
	if err := e.ResizeExecution(t.Context(), s.ID, shell, yurt.TerminalSize{Rows: 10, Cols: 20}); err != nil {
		t.Fatal(err)
	}
	write(t, e, s.ID, shell, "on\n", false)
	if r := testutil.Wait(t, e, s.ID, shell); !strings.HasSuffix(r.Stdout, "it read on\r\n10 20\r\n") {
		t.Errorf("got %q", r.Stdout)
	}
}

// TestInitDoesNotEndWhenAsked: signals that end other programs do not affect the first process of a sandbox, even if
// the host's root sends them.
func TestInitDoesNotEndWhenAsked(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s, err := e.CreateSandbox(t.Context(), testutil.Spec())
	if err != nil {
		t.Fatal(err)
	}
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGPIPE} {
		if err := syscall.Kill(s.PID, signal); err != nil {
			t.Fatal(err)
		}
		if result := testutil.Wait(t, e, s.ID, begin(t, e, s.ID, "true")); result.ExitCode != 0 {
			t.Errorf("after %s: %+v", signal, result)
		}
	}
}
