package notebook

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// chosen opens a session whose template chooses ipykernel.
func chosen(t *testing.T) session {
	t.Helper()
	testutil.NeedsSandboxes(t)
	packages := sitePackages(t)
	config := offering(t, packages)
	config.Transient = true
	return open(t, testutil.Start(t, config), template(t, packages, "ipykernel"))
}

// prints runs code that has to print exactly this.
func (s session) prints(t *testing.T, want, code string, change ...func(*yurt.ExecutionSpec)) *yurt.Result {
	t.Helper()
	r := s.run(t, code, change...)
	if r.Error != nil || r.ExitCode != 0 || r.Stdout != want {
		t.Errorf("%s\nprinted %q, want %q (exit code %d, error %+v, stderr %q)", code, r.Stdout, want, r.ExitCode, r.Error, r.Stderr)
	}
	return r
}

// fails runs code that has to end with an error of this type.
func (s session) fails(t *testing.T, kind, code string, change ...func(*yurt.ExecutionSpec)) *yurt.Result {
	t.Helper()
	r := s.run(t, code, change...)
	if r.Error == nil || r.Error.Type != kind {
		t.Fatalf("%s\nended with %+v, want %s (stdout %q, stderr %q)", code, r.Error, kind, r.Stdout, r.Stderr)
	}
	return r
}

func within(d time.Duration) func(*yurt.ExecutionSpec) {
	return func(s *yurt.ExecutionSpec) { s.Timeout = yurt.Duration(d) }
}

// TestIPykernel: code in a context is in ipykernel, with all that this has and Yurt's own
// kernel has not.
func TestIPykernel(t *testing.T) {
	t.Parallel()
	s := chosen(t)
	s.prints(t, "ipykernel.zmqshell True True\n", "import ipykernel.ipkernel\nshell = get_ipython()\n"+
		"print(type(shell).__module__, isinstance(shell.kernel, ipykernel.ipkernel.IPythonKernel), 'IPKernelApp' in shell.config)")
	s.prints(t, "from bash\n", "%%bash\necho from bash")
	s.prints(t, "1 2\n", "names = !printf '1\\n2'\nprint(*names)")
	s.prints(t, "", "%%capture caught\nprint('hidden', end='')")
	if r := s.run(t, "len(In) - 1"); r.ExecutionCount < 2 || string(r.Result) != strconv.Itoa(r.ExecutionCount) {
		t.Errorf("execution_count is %d, want that of the last In, %s", r.ExecutionCount, r.Result)
	}
	if r := s.run(t, "print('captured', repr(caught.stdout))\n40 + 2"); r.Stdout != "captured 'hidden'\n" || string(r.Result) != "42" || r.MainDisplay == nil {
		t.Errorf("stdout %q, result %s, displays %v", r.Stdout, r.Result, r.Displays)
	}
	s.prints(t, "a 1\n", "import os\nprint(input(), os.environ['V'])", func(s *yurt.ExecutionSpec) {
		s.Stdin, s.Env = []byte("a\n"), map[string]string{"V": "1"}
	})
	s.prints(t, "None\n", "print(os.environ.get('V'))")
	s.run(t, "import asyncio, threading\nasync def later():\n    await asyncio.sleep(0)\n    done.set()\ndone = threading.Event(); task = asyncio.create_task(later())")
	s.prints(t, "True\n", "print(done.is_set())") // between the two, as the loop goes on
	if r := s.run(t, "from comm import create_comm\ncreate_comm(target_name='widget').send({})\nprint('sent')"); r.Stdout != "sent\n" || len(r.Displays) != 0 {
		t.Errorf("a comm: %+v", r)
	}
	s.prints(t, "True True\n", "from ipykernel.kernelapp import IPKernelApp\nfrom traitlets.config import Application\n"+
		"print(IPKernelApp.instance().kernel is get_ipython().kernel, Application.instance().kernel is get_ipython().kernel)")
	if r := s.fails(t, "SystemExit", "import sys; sys.exit(3)"); r.StateLost {
		t.Error("sys.exit ends no notebook")
	}
	s.prints(t, "42\n", "print(_)")
	for _, code := range []string{"exit", "quit()", "def leave():\n    exit(0)\n    print('no')\nleave(); print('no')", "await asyncio.sleep(0); exit(); print('no')"} {
		if r := s.prints(t, "", code); r.StateLost || r.ExitCode != 0 || r.Stderr != "" {
			t.Errorf("%s: exit code %d, state lost %t, stderr %q; want the end of the cell alone", code, r.ExitCode, r.StateLost, r.Stderr)
		}
	}
	if r := s.fails(t, "SystemExit", "exit(3); print('no')"); r.StateLost || r.ExitCode != 3 || r.Stdout != "" || r.Stderr != "" {
		t.Errorf("exit(3): exit code %d, state lost %t, stdout %q, stderr %q", r.ExitCode, r.StateLost, r.Stdout, r.Stderr)
	}
	s.prints(t, "True\n", "print(done.is_set())")
	if r := s.fails(t, yurt.ErrorTypeKernelDied, "import os; os.kill(os.getpid(), 11)"); !r.StateLost {
		t.Errorf("a crash: %+v", r)
	}
	if r := s.prints(t, "", "x = 1"); !r.KernelRestarted {
		t.Error("it is not told of the fresh interpreter after a crash")
	}
}

// TestIPykernelIsInterrupted: an interrupted cell keeps the state, whether it computes, waits for
// the event loop or for a command.
func TestIPykernelIsInterrupted(t *testing.T) {
	t.Parallel()
	s := chosen(t)
	s.run(t, "import asyncio, os, time\nx = 1")
	for _, code := range []string{"while True: pass", "time.sleep(1000)", "!sleep 1000", "await asyncio.sleep(1000)"} {
		if r := s.fails(t, yurt.ErrorTypeTimeout, "print('begun'); x += 1\n"+code, within(500*time.Millisecond)); r.StateLost || !strings.HasPrefix(r.Stdout, "begun\n") || strings.Contains(r.Stderr, "kernel.py") {
			t.Errorf("%s: state lost %t, stdout %q, stderr %q", code, r.StateLost, r.Stdout, r.Stderr)
		}
	}
	s.prints(t, "5\n", "print(x)")
	id := s.start(t, "open('begun', 'w').close()\nwhile True: pass")
	s.prints(t, "", "import os, time\nwhile not os.path.exists('begun'): time.sleep(0.01)", func(s *yurt.ExecutionSpec) { s.ContextName = "" })
	if err := s.executor.SignalExecution(t.Context(), s.sandbox, id, yurt.Signal(syscall.SIGINT)); err != nil {
		t.Fatal(err)
	}
	if r := s.wait(t, id); r.Error == nil || r.Error.Type != yurt.ErrorTypeInterrupted || r.ExitCode != 130 {
		t.Errorf("it ended with %+v, exit code %d", r.Error, r.ExitCode)
	}
	s.prints(t, "5\n", "print(x)")
	if err := s.executor.RestartContext(t.Context(), s.sandbox, yurt.DefaultContext, ""); err != nil {
		t.Fatal(err)
	}
	if r := s.prints(t, "False\n", "print('x' in globals())"); !r.KernelRestarted {
		t.Error("it is not told of the restart")
	}
}

// TestIPykernelOutlivesExecutor: the next executor goes on with the kernel, with the running cell
// and those that wait.
func TestIPykernelOutlivesExecutor(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	packages := sitePackages(t)
	config := offering(t, packages)
	s := open(t, testutil.Open(t, config), template(t, packages, "ipykernel"))
	s.run(t, "import time, os\nx = 1")
	running := s.start(t, "print('one')\nwhile not os.path.exists('go'): time.sleep(0.01)\nx += 1\nprint('two')")
	waiting := s.start(t, "%time pass\nprint('three', x)")
	if err := s.executor.Close(); err != nil {
		t.Fatal(err)
	}
	s.executor = testutil.Open(t, config)
	s.prints(t, "", "open('go', 'w').close()", func(s *yurt.ExecutionSpec) { s.ContextName = "" })
	if r := s.wait(t, running); r.Error != nil || r.Stdout != "one\ntwo\n" {
		t.Errorf("what ran: %+v", r)
	}
	if r := s.wait(t, waiting); r.Error != nil || !strings.HasSuffix(r.Stdout, "three 2\n") || r.KernelRestarted {
		t.Errorf("what waited: %+v", r)
	}
	if err := s.executor.Close(); err != nil { // while no cell runs
		t.Fatal(err)
	}
	s.executor = testutil.Start(t, config)
	s.prints(t, "2\n", "print(x)")
}

// TestIPykernelIsMissing: a template without ipykernel, and one that chooses a missing kernel.
func TestIPykernelIsMissing(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := offering(t, "")
	config.Transient = true
	e := testutil.Start(t, config)
	without := template(t, "", "ipykernel")
	without.Env = nil
	s := open(t, e, without)
	r := s.fails(t, "ModuleNotFoundError", "1 + 1")
	for _, hint := range []string{"No module named 'ipykernel'", "dependencies", "python3-ipykernel"} {
		if !strings.Contains(r.Error.Message, hint) {
			t.Errorf("the error is %q, which does not name %q", r.Error.Message, hint)
		}
	}
	without.Kernels["python"] = "xeus"
	s = open(t, e, without)
	err := e.StartExecution(t.Context(), s.sandbox, yurt.ExecutionSpec{
		ID: yurt.NewExecutionID(), Kind: yurt.KindCode, Language: "python", ContextName: yurt.DefaultContext, Code: "1", Timeout: yurt.Duration(time.Minute), OutputLimit: 1 << 10,
	})
	if yurt.CodeOf(err) != yurt.CodeNotSupported || !strings.Contains(err.Error(), "xeus") || !strings.Contains(err.Error(), "ipykernel") {
		t.Errorf("of a kernel that there is not: %v", err)
	}
	s.prints(t, "2\n", "print(1 + 1)", func(s *yurt.ExecutionSpec) { s.ContextName = "" })
}

// TestIPykernelForgers: code that sends the host messages that only its kernel should, or takes the
// kernel's means to send them, spoils only its own result.
func TestIPykernelForgers(t *testing.T) {
	t.Parallel()
	s := chosen(t)
	const find = "import gc, os\n[kernel] = [one for one in gc.get_objects() if type(one).__name__ == 'Jupyter']\n"
	for name, tt := range map[string]struct{ code, kind string }{
		"no message":          {`os.write(kernel.control, b'\xff{"nonsense\n')`, yurt.ErrorTypeKernelDied},
		"a message of nobody": {`kernel.say(b'{"id":"../../x","done":{"exit_code":0}}')`, yurt.ErrorTypeKernelDied},
		"no ways":             {"os.closerange(3, 1024)", yurt.ErrorTypeKernelDied},
		"no loop":             {"import asyncio; kernel.loop.stop(); await asyncio.sleep(0.01)", "RuntimeError"},
		"another's mark":      {`os.write(1, b'\x1eyurt:exe_abcdefgh\x1e');`, ""},
		"its own mark":        {`os.write(1, b'\x1eyurt:%s\x1e' % kernel.current.encode());`, ""},
		"a fork":              {"if os.fork() == 0: display('from a fork')\nelse: os.wait()", ""},
		"a fork that forges":  {"if os.fork() == 0: os.write(kernel.control, b'x\\n'); os._exit(0)\nos.wait()", yurt.ErrorTypeKernelDied},
		"an error of ours":    {"class SandboxLost(Exception): pass\nraise SandboxLost", "user.SandboxLost"},
		"no end":              {"kernel.done = None", yurt.ErrorTypeKernelDied},
		"no standard output":  {"import sys; del sys.stdout", yurt.ErrorTypeKernelDied},
		"no session":          {"get_ipython().kernel.session = None", "AttributeError"},
	} {
		t.Run(name, func(t *testing.T) {
			r, kind := s.run(t, find+tt.code), ""
			if r.Error != nil {
				kind = r.Error.Type
			}
			if kind != tt.kind || len(r.Displays) > 0 {
				t.Errorf("error %+v, want %q; exit code %d, %q, %.500s", r.Error, tt.kind, r.ExitCode, r.Displays, r.Stderr)
			}
			if err := s.executor.RestartContext(t.Context(), s.sandbox, yurt.DefaultContext, ""); err != nil {
				t.Error(err)
			}
			s.prints(t, "works\n", "print('works')")
		})
	}
}
