package node_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/node"
	"github.com/yurtrun/yurt/test/testutil"
)

// isFork is Python that says whether its process is a zygote's fork. A fresh interpreter has
// the harness in its arguments.
const isFork = "open('/proc/self/cmdline').read().count('zygote.py')"

// untilForked runs Python until a run is a fork, as it is once a session has used Python.
func untilForked(t *testing.T, e *executor.Executor, sandbox string) {
	t.Helper()
	node.GrantZygotes(e.Node, patience(t))
	for begun := time.Now(); time.Since(begun) < 2*patience(t); {
		r := testutil.Execute(t, e, sandbox, testutil.Python("print("+isFork+")"))
		if r.Error != nil {
			t.Fatalf("error %+v, stderr %q", r.Error, r.Stderr)
		}
		if r.Stdout == "1\n" {
			return
		}
	}
	t.Fatal("no run was forked from a zygote")
}

// patience is for the beginning of a zygote.
func patience(t *testing.T) time.Duration { return testutil.Moment(t, 30*time.Second) }

// zygoteSandbox is a sandbox whose Python runs are forks.
func zygoteSandbox(t *testing.T, change ...func(*yurt.SandboxSpec)) (*executor.Executor, string) {
	t.Helper()
	e := testutil.Executor(t)
	s := testutil.Create(t, e, append(change, func(s *yurt.SandboxSpec) { s.Env = map[string]string{"FROM_SANDBOX": "yes"} })...)
	untilForked(t, e, s.ID)
	return e, s.ID
}

// TestForksAreLikeFreshInterpreters runs the same code in a fork and in an interpreter that
// was started for it, as one is where the run has an environment of its own.
func TestForksAreLikeFreshInterpreters(t *testing.T) {
	e, sandbox := zygoteSandbox(t)
	fresh := func(s *yurt.ExecutionSpec) { s.Env = map[string]string{"OTHER": "1"} }
	for name, code := range map[string]string{
		"environment": "import os; print(sorted((k, v) for k, v in os.environ.items() if k != 'OTHER'))",
		"flags":       "import sys; print(sys.flags, sys.argv, sys.path, sys.executable, sys.prefix)",
		"site":        "import site; print(site.USER_SITE, site.ENABLE_USER_SITE)",
		"names":       "print(sorted(globals()), __name__, __file__)",
		"modules":     "import sys; print(sorted(set(sys.modules) - {'_ctypes', '_socket', 'gc'}))",
		"stdin":       "import sys; print(repr(sys.stdin.read()), sys.stdin.encoding, sys.stdout.encoding, sys.stdout.line_buffering)",
		"process":     "import os; print(os.getpid() == os.getsid(0) == os.getpgid(0), os.getppid(), os.getuid(), os.getcwd(), sorted(os.listdir('/proc/self/fd'))[:4], os.umask(0))",
		"limits":      "import resource; print([resource.getrlimit(n) for n in range(16)])",
		"cgroups":     "print(len(open('/proc/self/cgroup').read().splitlines()))",
		"status":      "print([l for l in open('/proc/self/status') if l.startswith(('Cap', 'Sig', 'Seccomp', 'NoNew', 'Uid', 'Gid', 'Groups', 'TracerPid', 'Threads'))])",
		"dumpable":    "import os; print(os.stat('/proc/self/environ').st_uid, len(open('/proc/self/maps').read()) > 0)",
		"failure":     "import sys\nprint('a', file=sys.stderr)\ndef f(): raise ValueError('x')\nf()",
		"syntax":      "x = (",
		"exit":        "import sys; sys.exit(7)",
		"signal":      "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
		"children":    "import subprocess, multiprocessing as m; print(subprocess.run(['echo', 'hi'], capture_output=True).stdout)\nwith m.get_context('fork').Pool(2) as p: print(p.map(abs, [-1, -2]))",
		"threads":     "import threading; t = threading.Thread(target=print, args=('in a thread',)); t.start(); t.join(); print(threading.current_thread().name, threading.active_count())",
		"asyncio":     "import asyncio; print(asyncio.run(asyncio.sleep(0, 5)))",
		"imports":     "import ctypes, socket, resource, struct, json, random; print(ctypes.CDLL(None).getppid(), json.dumps(1))",
	} {
		t.Run(name, func(t *testing.T) {
			forked, other := testutil.Execute(t, e, sandbox, testutil.Python("print("+isFork+")\n"+code)), testutil.Execute(t, e, sandbox, testutil.Python("print("+isFork+")\n"+code, fresh))
			if name != "syntax" && (!strings.HasPrefix(forked.Stdout, "1\n") || !strings.HasPrefix(other.Stdout, "0\n")) {
				t.Fatalf("forked: %q, %q, %+v; fresh: %q, %q", forked.Stdout, forked.Stderr, forked.Error, other.Stdout, other.Stderr)
			}
			got, want := strings.TrimPrefix(forked.Stdout, "1"), strings.TrimPrefix(other.Stdout, "0")
			if got != want || forked.Stderr != other.Stderr || forked.ExitCode != other.ExitCode {
				t.Errorf("a fork: %d %q %q\nfresh: %d %q %q", forked.ExitCode, got, forked.Stderr, other.ExitCode, want, other.Stderr)
			}
			if (forked.Error == nil) != (other.Error == nil) || forked.Error != nil && (forked.Error.Type != other.Error.Type || forked.Error.Message != other.Error.Message) {
				t.Errorf("a fork: %+v, fresh: %+v", forked.Error, other.Error)
			}
		})
	}
}

// TestForksAreApart: a run does not see changes that another made to its own interpreter, and each has random numbers
// of its own.
func TestForksAreApart(t *testing.T) {
	e, sandbox := zygoteSandbox(t)
	testutil.Execute(t, e, sandbox, testutil.Python("import builtins, sys, os; builtins.left = 1; sys.path.append('/left'); os.environ['LEFT'] = '1'; os.chdir('/tmp'); os.umask(0o777)"))
	r := testutil.Execute(t, e, sandbox, testutil.Python("import builtins, sys, os; print("+isFork+", hasattr(builtins, 'left'), '/left' in sys.path, os.environ.get('LEFT'), os.getcwd(), os.umask(0))"))
	if want := "1 False False None /workspace 18\n"; r.Stdout != want {
		t.Errorf("got %q (%s), want %q", r.Stdout, r.Stderr, want)
	}
	const random = "import random, uuid, tempfile; print(random.random(), uuid.uuid4(), next(tempfile._get_candidate_names()))"
	a, b := testutil.Execute(t, e, sandbox, testutil.Python(random)), testutil.Execute(t, e, sandbox, testutil.Python(random))
	for i, word := range strings.Fields(a.Stdout) {
		if others := strings.Fields(b.Stdout); len(others) != 3 || others[i] == word {
			t.Errorf("two runs drew %q and %q", a.Stdout, b.Stdout)
		}
	}
}

// TestForksAreLimited: a fork is in its own run's cgroup, where it can be ended and counted.
func TestForksAreLimited(t *testing.T) {
	e, sandbox := zygoteSandbox(t)
	r := testutil.Execute(t, e, sandbox, testutil.Python("import os\nif os.fork() == 0: os.setsid()\nprint("+isFork+", flush=True)\nwhile True: pass", testutil.Timeout(time.Second)))
	testutil.WantErrorType(t, r, yurt.ErrorTypeTimeout)
	for begun, left := time.Now(), 1; left > 0; { // the result does not wait for the last of them
		processes, err := e.Processes(t.Context(), sandbox)
		if err != nil {
			t.Fatal(err)
		}
		left = 0
		for _, p := range processes {
			if strings.HasPrefix(p.ExecutionID, yurt.ExecutionIDPrefix) {
				left++
			}
		}
		if left > 0 && time.Since(begun) > time.Minute {
			t.Fatalf("left behind: %+v", processes)
		}
	}
	r = testutil.Execute(t, e, sandbox, testutil.Python("x = bytearray(10 << 30)"))
	if r.ExitCode == 0 {
		t.Error("it took 10 GiB")
	}
	untilForked(t, e, sandbox)
}

// TestForksHaveTheirMemory: the pages that a run writes to before it ends were copied from the zygote before the run
// came; but not for the first run, as there may be a zygote for the sake of a kernel alone.
func TestForksHaveTheirMemory(t *testing.T) {
	e := testutil.Executor(t)
	node.GrantZygotes(e.Node, patience(t))
	sandbox := testutil.Create(t, e).ID
	var private []int // KiB at the beginning of each fork
	for begun := time.Now(); len(private) < 2; {
		if time.Since(begun) > 2*patience(t) {
			t.Fatal("no two runs were forked from a zygote")
		}
		r := testutil.Execute(t, e, sandbox, testutil.Python("print("+isFork+", sum(int(l.split()[1]) for l in open('/proc/self/smaps_rollup') if l.startswith('Private_Dirty')))"))
		var forked, kib int
		if _, err := fmt.Sscan(r.Stdout, &forked, &kib); err != nil {
			t.Fatalf("got %q, stderr %q, error %+v", r.Stdout, r.Stderr, r.Error)
		}
		if forked == 1 {
			private = append(private, kib)
		}
	}
	if private[1] < private[0]+200 { // 400 in Python 3.11
		t.Errorf("the first fork had %d KiB of its own when it began, the second %d", private[0], private[1])
	}
}

// TestSlowZygoteIsTriedAgain: a machine that is too busy for a zygote to begin in time is so for
// the moment.
func TestSlowZygoteIsTriedAgain(t *testing.T) {
	e := testutil.Executor(t)
	node.GrantZygotes(e.Node, time.Nanosecond)
	sandbox := testutil.Create(t, e).ID
	for range 10 {
		if r := testutil.Execute(t, e, sandbox, testutil.Python("print("+isFork+")")); r.Stdout != "0\n" {
			t.Fatalf("it printed %q, error %+v, stderr %q", r.Stdout, r.Error, r.Stderr)
		}
	}
	untilForked(t, e, sandbox)
}

// findZygotes is Python that finds the zygote, and the fork that waits for the next run.
const findZygotes = `
import os, signal, time
def others():
    found = []
    for number in range(2, os.getpid() + 100):
        try:
            os.kill(number, 0)
            if number != os.getpid(): found.append(number)
        except OSError: pass
    return found
zygotes = []
while len(zygotes) != 2 or zygotes != before:  # while the next is being forked there are others
    before = zygotes
    time.sleep(0.05)
    zygotes = others()
`

// TestZygoteIsOutOfReach: code of the same user can end a zygote, and the fork that waits for the
// next run, and no more, and is served all the same.
func TestZygoteIsOutOfReach(t *testing.T) {
	e, sandbox := zygoteSandbox(t)
	const find = "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n" + findZygotes
	r := testutil.Execute(t, e, sandbox, testutil.Python(find+`
for pid in zygotes:
    print(libc.ptrace(16, pid, 0, 0), libc.ptrace(0x4206, pid, 0, 0))  # PTRACE_ATTACH, PTRACE_SEIZE
    for name in ('mem', 'fd', 'maps', 'environ', 'cwd', 'root', 'exe'):
        try:
            os.listdir(f'/proc/{pid}/{name}') if name in ('fd', 'cwd', 'root') else open(f'/proc/{pid}/{name}', 'rb').read(1)
            print('opened', name)
        except OSError: pass
`))
	if r.Stdout != "-1 -1\n-1 -1\n" {
		t.Errorf("got %q, stderr %q, error %+v", r.Stdout, r.Stderr, r.Error)
	}
	for _, change := range []string{
		"pid == zygotes[0] or os.kill(pid, signal.SIGKILL)",
		"os.kill(pid, signal.SIGKILL)",
		"import resource; resource.prlimit(pid, resource.RLIMIT_FSIZE, (77, 77))",
		"os.kill(pid, signal.SIGSTOP)",
	} {
		untilForked(t, e, sandbox)
		r := testutil.Execute(t, e, sandbox, testutil.Python(find+"for pid in reversed(zygotes): "+change+"\nprint('done')"))
		if r.Stdout != "done\n" {
			t.Fatalf("%s: %q, stderr %q", change, r.Stdout, r.Stderr)
		}
		if r := testutil.Execute(t, e, sandbox, testutil.Python("import resource; print(resource.getrlimit(resource.RLIMIT_FSIZE)[0] == 77)")); r.Stdout != "False\n" {
			t.Errorf("after %s: %q, stderr %q, error %+v", change, r.Stdout, r.Stderr, r.Error)
		}
	}
}

// TestForksOutliveTheExecutor: a run that was forked goes on, its zygote ends, and the next
// executor starts another.
func TestForksOutliveTheExecutor(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	first := testutil.Open(t, config)
	s := testutil.Create(t, first)
	untilForked(t, first, s.ID)
	spec := testutil.Python("import os, time\nprint(" + isFork + ", flush=True)\nwhile not os.path.exists('/tmp/go'): time.sleep(0.01)\nprint('on')\nraise SystemExit(3)")
	if err := first.StartExecution(t.Context(), s.ID, spec); err != nil {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}

	e := testutil.Start(t, config)
	testutil.Run(t, e, s.ID, "touch /tmp/go")
	if r := testutil.Wait(t, e, s.ID, spec.ID); r.Stdout != "1\non\n" || r.ExitCode != 3 {
		t.Errorf("got exit code %d, %q, %+v", r.ExitCode, r.Stdout, r.Error)
	}
	processes, err := e.Processes(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		if strings.HasPrefix(p.ExecutionID, "zygote") {
			t.Errorf("it is still there: %+v", p)
		}
	}
	untilForked(t, e, s.ID)
}

// TestRunsFollowEachOther: one run of Python after the other has its result, whether it is a
// fork or not.
func TestRunsFollowEachOther(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	for range 5 {
		r := testutil.Execute(t, e, s.ID, testutil.Python("import os; print(6 * 7, os.getpid() == os.getsid(0))"))
		if r.Stdout != "42 True\n" || r.Error != nil {
			t.Fatalf("got %q, stderr %q, error %+v", r.Stdout, r.Stderr, r.Error)
		}
	}
}
