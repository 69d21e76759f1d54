package kernel_test

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/testutil"
)

func TestKernelEnds(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	for _, end := range []struct {
		code, errorType string
		exitCode        int
	}{
		{"import os; print('bye', flush=True); os._exit(4)", yurt.ErrorTypeKernelDied, 4},
		{"import os, signal; print('bye', flush=True); os.kill(os.getpid(), signal.SIGKILL)", yurt.ErrorTypeKernelDied, 137},
		{"import os; print('bye', flush=True); os.closerange(3, 4096)", yurt.ErrorTypeKernelDied, 1},
	} {
		n.run("x = 1")
		r := n.run(end.code)
		if r.ExitCode != end.exitCode || r.Stdout != "bye\n" || !r.StateLost || r.Error == nil {
			t.Errorf("%s: exit code %d, stdout %q, state lost %t, error %+v", end.code, r.ExitCode, r.Stdout, r.StateLost, r.Error)
		}
		testutil.WantErrorType(t, r, end.errorType)
		if r := n.want("False\n", "print('x' in globals())"); !r.KernelRestarted {
			t.Errorf("after %s: the next execution is not told of the fresh interpreter", end.code)
		}
		if r := n.want("", ""+"pass"); r.KernelRestarted {
			t.Errorf("after %s: told twice", end.code)
		}
	}
}

// TestExitEndsTheCell: sys.exit and the like end a cell and not its interpreter.
func TestExitEndsTheCell(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	n.run("import sys; x = 1")
	for code, want := range map[string]struct {
		exitCode int
		stderr   string
	}{
		"sys.exit()": {}, "sys.exit(0)": {}, "exit": {}, "quit": {}, "exit()": {}, "quit(0)": {}, "raise SystemExit": {},
		"sys.exit(3)": {exitCode: 3}, "quit(3)": {exitCode: 3}, "raise SystemExit(-1)": {exitCode: 255}, "sys.exit('why')": {exitCode: 1, stderr: "why\n"},
	} {
		r := n.run("print('bye')\n" + code + "\nprint('not this')")
		if code == "exit" || code == "quit" { // their name alone, as the last expression
			r = n.run("print('bye')\n" + code)
		}
		if r.ExitCode != want.exitCode || r.Stdout != "bye\n" || r.Stderr != want.stderr || r.StateLost || (want.exitCode == 0) != (r.Error == nil) {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q, state lost %t, error %+v; want exit code %d and the state", code, r.ExitCode, r.Stdout, r.Stderr, r.StateLost, r.Error, want.exitCode)
		}
		if r.Error != nil {
			testutil.WantErrorType(t, r, "SystemExit")
		}
	}
	n.want("1\n", "print(x)")
}

func TestCellTimesOut(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	n.run("x = 1")
	r := n.run("import time\nprint('begun')\nwhile True: time.sleep(0.01)", testutil.Timeout(300*time.Millisecond))
	testutil.WantErrorType(t, r, yurt.ErrorTypeTimeout)
	if r.ExitCode != yurt.ExecutionExitTimeout || r.StateLost || r.Stdout != "begun\n" {
		t.Errorf("exit code %d, state lost %t, stdout %q", r.ExitCode, r.StateLost, r.Stdout)
	}
	n.want("1\n", "print(x)")
	left := "import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\nwhile True: time.sleep(0.01)"
	if r := n.run(left, testutil.Timeout(300*time.Millisecond)); !r.StateLost {
		t.Error("an interpreter was kept whose execution left processes behind when its time was up")
	}
	n.run("x = 1\nimport time")
	stubborn := "import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)\nwhile True:\n  try:\n    time.sleep(1000)\n  except KeyboardInterrupt: pass"
	r = n.run(stubborn, testutil.Timeout(300*time.Millisecond))
	testutil.WantErrorType(t, r, yurt.ErrorTypeTimeout)
	if !r.StateLost {
		t.Error("an interpreter that does not yield was kept")
	}
	if r := n.want("False\n", "print('x' in globals())"); !r.KernelRestarted {
		t.Error("the next execution is not told of the fresh interpreter")
	}
	if r := testutil.Run(t, n.e, n.sandbox, "pgrep -c sleep"); r.Stdout != "0\n" {
		t.Errorf("%q processes are left of what timed out", r.Stdout)
	}
}

// TestTimeoutSparesWhatWasThere: an execution that runs out of time takes along only its own processes, and not those
// that its kernel started before, also since the last execution ended.
func TestTimeoutSparesWhatWasThere(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	n.run("import os, subprocess, threading, time\nx = 1")
	timesOut := func() {
		t.Helper()
		r := n.run("while True: time.sleep(0.01)", testutil.Timeout(300*time.Millisecond))
		testutil.WantErrorType(t, r, yurt.ErrorTypeTimeout)
		if r.StateLost {
			t.Fatal("the interpreter was ended")
		}
	}
	n.run("child = subprocess.Popen(['sleep', '1000'], start_new_session=True)")
	timesOut()
	n.run(`
child.kill(); child.wait()
def late():
    while not os.path.exists('/tmp/go'): time.sleep(0.01)
    subprocess.Popen(['sleep', '1000'], start_new_session=True)
    open('/tmp/there', 'w').close()
threading.Thread(target=late, daemon=True).start()`)
	testutil.Run(t, n.e, n.sandbox, "touch /tmp/go; while [ ! -e /tmp/there ]; do sleep 0.01; done")
	timesOut()
	n.want("1\n", "print(x)")
}

func TestCellsQueue(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	n.run("import time, os\nseen = []")
	var ids []string
	for _, code := range []string{"while not os.path.exists('/tmp/go'): time.sleep(0.01)\nseen.append(1)", "seen.append(2)", "seen.append(3)"} {
		spec := testutil.Cell(code)
		if err := n.e.StartExecution(t.Context(), n.sandbox, spec); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, spec.ID)
	}
	n.want("parallel\n", "print('parallel')", testutil.InContext("other")) // while the first context is busy
	contexts, err := n.e.Contexts(t.Context(), n.sandbox)
	if err != nil || len(contexts) != 2 || contexts[0].State != yurt.ContextBusy || contexts[0].Queued != 2 || contexts[1].State != yurt.ContextIdle {
		t.Errorf("contexts are %+v, %v", contexts, err)
	}
	testutil.Run(t, n.e, n.sandbox, "touch /tmp/go")
	for _, id := range ids {
		if r, err := n.e.WaitExecution(t.Context(), n.sandbox, id); err != nil || r.Error != nil {
			t.Errorf("%+v, %v", r, err)
		}
	}
	n.want("[1, 2, 3]\n", "print(seen)")
}

func TestContextsAreBoundedAndRemoved(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	n.run("x = 1", testutil.InContext("a"))
	if err := n.e.RestartContext(t.Context(), n.sandbox, "a", ""); err != nil {
		t.Fatal(err)
	}
	if r := n.want("False\n", "print('x' in globals())", testutil.InContext("a")); !r.KernelRestarted {
		t.Error("the first execution after a restart is not told")
	}
	blocked := testutil.Cell("import time; time.sleep(1000)", testutil.InContext("a"))
	if err := n.e.StartExecution(t.Context(), n.sandbox, blocked); err != nil {
		t.Fatal(err)
	}
	if err := n.e.RemoveContext(t.Context(), n.sandbox, "a", "python"); err != nil {
		t.Fatal(err)
	}
	r, err := n.e.WaitExecution(t.Context(), n.sandbox, blocked.ID)
	if err != nil {
		t.Fatal(err)
	}
	testutil.WantErrorType(t, r, yurt.ErrorTypeKernelDied)
	if err := n.e.RemoveContext(t.Context(), n.sandbox, "a", ""); yurt.CodeOf(err) != yurt.CodeContextNotFound {
		t.Errorf("removing it again: %v", err)
	}
	for i := range yurt.MaxContexts {
		n.run("pass", testutil.InContext(string(rune('a'+i))))
	}
	if err := n.e.StartExecution(t.Context(), n.sandbox, testutil.Cell("pass", testutil.InContext("one-more"))); yurt.CodeOf(err) != yurt.CodeLimitOutOfRange {
		t.Errorf("one context too many: %v", err)
	}
}

func TestKernelOutlivesExecutor(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	first := testutil.Open(t, config)
	sandbox := testutil.Create(t, first).ID
	n := &notebook{t, first, sandbox}
	n.run("import time, os\nx = 1")
	running := testutil.Cell("print('one')\nwhile not os.path.exists('/tmp/go'): time.sleep(0.01)\nx += 1\nprint('two')\nx")
	waiting := testutil.Cell("print('three', x)")
	for _, spec := range []yurt.ExecutionSpec{running, waiting} {
		if err := first.StartExecution(t.Context(), sandbox, spec); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := testutil.Start(t, config)
	testutil.Run(t, second, sandbox, "touch /tmp/go")
	for id, want := range map[string]string{running.ID: "one\ntwo\n", waiting.ID: "three 2\n"} {
		r, err := second.WaitExecution(t.Context(), sandbox, id)
		if err != nil || r.Error != nil || r.Stdout != want || r.KernelRestarted {
			t.Errorf("stdout %q, want %q: %+v %v", r.Stdout, want, r, err)
		}
	}
	n = &notebook{t, second, sandbox}
	n.want("2\n", "print(x)")
	if err := second.RestartContext(t.Context(), sandbox, yurt.DefaultContext, ""); err != nil {
		t.Fatal(err)
	}
	n.want("False\n", "print('x' in globals())")
}

func TestKernelDiesWhileNobodyWatches(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	first := testutil.Open(t, config)
	sandbox := testutil.Create(t, first).ID
	(&notebook{t, first, sandbox}).run("import os, threading, time\nx = os.getpid()")
	spec := testutil.Cell("print('begun', flush=True)\nwhile not os.path.exists('/tmp/go'): time.sleep(0.01)\nos.kill(x, 9)")
	if err := first.StartExecution(t.Context(), sandbox, spec); err != nil {
		t.Fatal(err)
	}
	trigger := testutil.Command("sleep 0.5; touch /tmp/go")
	if err := first.StartExecution(t.Context(), sandbox, trigger); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(testutil.Moment(t, time.Second)) // for it to die; if it does so later, that is a test too
	second := testutil.Start(t, config)
	r, err := second.WaitExecution(t.Context(), sandbox, spec.ID)
	if err != nil {
		t.Fatal(err)
	}
	testutil.WantErrorType(t, r, yurt.ErrorTypeKernelDied)
	if r.ExitCode != yurt.ExecutionExitSignal+int(syscall.SIGKILL) || r.Stdout != "begun\n" {
		t.Errorf("exit code %d, stdout %q", r.ExitCode, r.Stdout)
	}
	if r := (&notebook{t, second, sandbox}).want("False\n", "print('x' in globals())"); !r.KernelRestarted {
		t.Error("the next execution is not told of the fresh interpreter")
	}
}

// TestLossOfAKernelOutlivesTheExecutor: an interpreter that died between two executions is
// told of by the next one, whichever executor it comes to, and by no other.
func TestLossOfAKernelOutlivesTheExecutor(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	next := func() *executor.Executor {
		e := testutil.Open(t, config)
		return e
	}
	leave := func(e *executor.Executor) {
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	first := next()
	sandbox := testutil.Create(t, first).ID
	n := &notebook{t, first, sandbox}
	n.run("x = 1")
	n.run("y = 1", testutil.InContext("kept"))
	n.run("import os\nprint(os.getpid(), file=open('/workspace/pid', 'w'))")
	testutil.Run(t, first, sandbox, "kill -9 $(cat /workspace/pid)")
	testutil.Eventually(t, "the context stops", func() bool {
		contexts, err := first.Contexts(t.Context(), sandbox)
		return err == nil && len(contexts) == 2 && contexts[0].State == yurt.ContextStopped
	})
	leave(first)

	second := next()
	if contexts, err := second.Contexts(t.Context(), sandbox); err != nil || len(contexts) != 2 {
		t.Errorf("contexts are %+v, %v", contexts, err)
	}
	begun := testutil.Cell("print('x' in globals())\nimport os, time\nopen('begun', 'w').close()\nwhile not os.path.exists('/workspace/go'): time.sleep(0.01)")
	if err := second.StartExecution(t.Context(), sandbox, begun); err != nil {
		t.Fatal(err)
	}
	testutil.Eventually(t, "the cell has begun", func() bool {
		_, err := second.StatFile(t.Context(), sandbox, "/workspace/begun")
		return err == nil
	})
	leave(second)

	third := testutil.Start(t, config)
	testutil.Run(t, third, sandbox, "touch /workspace/go")
	r, err := third.WaitExecution(t.Context(), sandbox, begun.ID)
	if err != nil || r.Stdout != "False\n" || !r.KernelRestarted || r.StateLost {
		t.Errorf("the next execution: %+v, %v", r, err)
	}
	n.e = third
	if r := n.want("1\n", "print(y)", testutil.InContext("kept")); r.KernelRestarted {
		t.Error("one in a context whose interpreter lives is told of another")
	}
	if r := n.want("False\n", "print('x' in globals())"); r.KernelRestarted {
		t.Error("told twice")
	}
}

func TestInterruptKeepsState(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	n.run("import time, os\nx = 1")
	loop := testutil.Cell("x = 2\nopen('/tmp/begun', 'w').close()\nwhile True: pass")
	waiting := testutil.Cell("x = 3")
	for _, spec := range []yurt.ExecutionSpec{loop, waiting} {
		if err := n.e.StartExecution(t.Context(), n.sandbox, spec); err != nil {
			t.Fatal(err)
		}
	}
	n.want("", "import time, os\nwhile not os.path.exists('/tmp/begun'): time.sleep(0.01)", testutil.InContext("other"))
	for _, id := range []string{waiting.ID, loop.ID} {
		if err := n.e.SignalExecution(t.Context(), n.sandbox, id, yurt.Signal(syscall.SIGINT)); err != nil {
			t.Fatal(err)
		}
		r, err := n.e.WaitExecution(t.Context(), n.sandbox, id)
		if err != nil {
			t.Fatal(err)
		}
		testutil.WantErrorType(t, r, yurt.ErrorTypeInterrupted)
		if r.StateLost || r.ExitCode != 130 {
			t.Errorf("exit code %d, state lost %t", r.ExitCode, r.StateLost)
		}
	}
	// It is unknowable whether a foreign signal just before an execution is meant for that execution. The interpreter
	// survives it.
	testutil.Run(t, n.e, n.sandbox, "pkill -INT python3; true")
	n.run("pass")
	n.want("2\n", "print(x)")
	if err := n.e.SignalExecution(t.Context(), n.sandbox, loop.ID, yurt.Signal(syscall.SIGINT)); yurt.CodeOf(err) != yurt.CodeExecutionEnded {
		t.Errorf("interrupting it again: %v", err)
	}
	// One that is interrupted before its kernel has read it ends all the same.
	for range 20 {
		spec := testutil.Cell("while True: pass", testutil.Timeout(time.Minute))
		if err := n.e.StartExecution(t.Context(), n.sandbox, spec); err != nil {
			t.Fatal(err)
		}
		if err := n.e.SignalExecution(t.Context(), n.sandbox, spec.ID, yurt.Signal(syscall.SIGINT)); err != nil {
			t.Fatal(err)
		}
		r, err := n.e.WaitExecution(t.Context(), n.sandbox, spec.ID)
		if err != nil {
			t.Fatal(err)
		}
		testutil.WantErrorType(t, r, yurt.ErrorTypeInterrupted)
	}
	n.want("2\n", "print(x)")
	spec := testutil.Cell("while True: time.sleep(1000)")
	if err := n.e.StartExecution(t.Context(), n.sandbox, spec); err != nil {
		t.Fatal(err)
	}
	if err := n.e.SignalExecution(t.Context(), n.sandbox, spec.ID, yurt.SignalKill); err != nil {
		t.Fatal(err)
	}
	r, err := n.e.WaitExecution(t.Context(), n.sandbox, spec.ID)
	if err != nil {
		t.Fatal(err)
	}
	testutil.WantErrorType(t, r, yurt.ErrorTypeKernelDied)
}

func TestCellOutOfMemory(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e, func(s *yurt.SandboxSpec) { s.Resources.Memory = 64 << 20 })
	n := &notebook{t, e, s.ID}
	n.run("x = 1")
	r := n.run("y = []\nwhile True: y.append(bytearray(1 << 20))")
	testutil.WantErrorType(t, r, yurt.ErrorTypeOutOfMemory)
	if !r.StateLost {
		t.Error("the state is not said to be lost")
	}
	n.want("1\n", "print(1)")
}

// TestNothingIsToldTwice: the output of an execution does not appear in the next one if its executor ends before it
// has acknowledged that output.
func TestNothingIsToldTwice(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	e := testutil.Open(t, config)
	sandbox := testutil.Create(t, e).ID
	for range 5 {
		said := testutil.Cell("print('said')\n1")
		if r := testutil.Execute(t, e, sandbox, said); r.Stdout != "said\n" || len(r.Displays) != 1 {
			t.Errorf("%q, %d displays", r.Stdout, len(r.Displays))
		}
		if err := errors.Join(e.ForgetExecution(t.Context(), sandbox, said.ID), e.Close()); err != nil {
			t.Fatal(err)
		}
		e = testutil.Open(t, config)
		testutil.Run(t, e, sandbox, "true") // meanwhile the executor receives yurt-init's remaining output
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	last := &notebook{t, testutil.Start(t, config), sandbox}
	if r := last.want("", "None"); len(r.Displays) != 0 {
		t.Errorf("%d displays", len(r.Displays))
	}
}

// TestContextRemovedAsItStarts: removing a context while its interpreter starts leaves no process and no file.
func TestContextRemovedAsItStarts(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	spec := testutil.Cell("1")
	if err := n.e.StartExecution(t.Context(), n.sandbox, spec); err != nil {
		t.Fatal(err)
	}
	if err := n.e.RemoveContext(t.Context(), n.sandbox, yurt.DefaultContext, ""); err != nil {
		t.Fatal(err)
	}
	testutil.Wait(t, n.e, n.sandbox, spec.ID)
	n.want("2\n", "print(2)", testutil.InContext("other")) // by when the first would be there as well
	testutil.Eventually(t, "the end of the first interpreter", func() bool {
		processes, err := n.e.Processes(t.Context(), n.sandbox)
		return err == nil && len(processes) == 1
	})
}

// TestKernelEndsBeforeItReads: an execution whose interpreter was killed before it had read the request
// runs in the next one, which is told; neither an idle interpreter's end nor this one fails it.
func TestKernelEndsBeforeItReads(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	n.run("import os; x = 1")
	pid := strings.TrimSpace(n.run("print(os.getpid())").Stdout)
	n.want("", "import os, signal; os.kill("+pid+", signal.SIGKILL)", testutil.InContext("other")) // while it is idle
	if r := n.want("False\n", "print('x' in globals())"); !r.KernelRestarted || r.StateLost {
		t.Errorf("after an idle interpreter was killed: restarted %t, state lost %t", r.KernelRestarted, r.StateLost)
	}
	n.run("import os; x = 1")
	pid = strings.TrimSpace(n.run("print(os.getpid())").Stdout)
	n.want("", "import os, signal; os.kill("+pid+", signal.SIGKILL)", testutil.InContext("other"))
	if got := n.matches("zi"); !slices.Equal(got, []string{"zip"}) {
		t.Errorf("a question after an idle interpreter was killed: %q, want zip", got)
	}
	if r := n.run("import os; x = 1"); !r.KernelRestarted {
		t.Error("the execution after a question to a new interpreter was not told of it")
	}
	pid = strings.TrimSpace(n.run("print(os.getpid())").Stdout)
	n.want("", "import os, signal; os.kill("+pid+", signal.SIGSTOP)", testutil.InContext("other"))
	spec := testutil.Cell("print('x' in globals())")
	if err := n.e.StartExecution(t.Context(), n.sandbox, spec); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // for the request to be in the pipe
	n.want("", "import os, signal; os.kill("+pid+", signal.SIGKILL)", testutil.InContext("other"))
	if r := testutil.Wait(t, n.e, n.sandbox, spec.ID); r.Error != nil || r.Stdout != "False\n" || !r.KernelRestarted || r.StateLost {
		t.Errorf("the execution that it had not read ended with %+v, output %q, restarted %t, state lost %t", r.Error, r.Stdout, r.KernelRestarted, r.StateLost)
	}
}

// TestTimeoutInC: code in C that runs out of time keeps its state if it returns soon, and the result
// says so.
func TestTimeoutInC(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	n.run("import hashlib, time; x = 42; begun = time.time(); hashlib.pbkdf2_hmac('sha256', b'', b'', 300_000); rate = 300_000 / (time.time() - begun)")
	r := n.run("while True: hashlib.pbkdf2_hmac('sha256', b'', b'', int(2.5 * rate))", func(s *yurt.ExecutionSpec) { s.Timeout = yurt.Duration(300 * time.Millisecond) })
	testutil.WantErrorType(t, r, yurt.ErrorTypeTimeout)
	if r.StateLost || !strings.Contains(r.Error.Message, "was interrupted, and yielded within") {
		t.Errorf("state lost %t, message %q", r.StateLost, r.Error.Message)
	}
	n.want("42\n", "print(x)")
}
