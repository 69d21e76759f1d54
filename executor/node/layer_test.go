package node_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/testutil"
)

// layered is a sandbox each of whose executions has namespaces of its own.
func layered(t *testing.T, e *executor.Executor) yurt.Sandbox {
	t.Helper()
	return testutil.Create(t, e, func(s *yurt.SandboxSpec) { s.Template.Isolation.PerExecution = true })
}

func TestLayer(t *testing.T) {
	e := testutil.Executor(t)
	s := layered(t, e)
	other := testutil.Command("echo secret > /tmp/secret; touch /workspace/begun; exec sleep 300")
	if err := e.StartExecution(t.Context(), s.ID, other); err != nil {
		t.Fatal(err)
	}
	testutil.Eventually(t, "the other execution has begun", func() bool {
		return testutil.Run(t, e, s.ID, "test -e /workspace/begun").ExitCode == 0
	})
	tests := []struct{ name, line, want string }{
		{"is not the first process, and sees itself alone", "echo $$; ls /proc | grep '^[0-9]' | tr '\\n' ' '", "2\n2 3 4 5 "},
		{"has a /tmp of its own, of a bounded size", "ls -A /tmp; touch /tmp/x && df --output=size -B1 /tmp | tail -1", "268435456\n"},
		{"has a /dev/shm of its own, without programs", "ls -A /dev/shm; cp /bin/true /dev/shm/t && /dev/shm/t 2>/dev/null || echo refused", "refused\n"},
		{"shares the workspace", "echo a > /workspace/shared; cat /workspace/shared", "a\n"},
		{"cannot see or signal its keeper", "kill -9 1 2>/dev/null || echo refused; ls /proc/1 2>/dev/null || echo hidden", "refused\nhidden\n"},
		{"has no capability", "grep -E '^Cap' /proc/self/status | awk '{print $2}' | sort -u", "0000000000000000\n"},
		{"cannot mount", "mount -t tmpfs x /tmp 2>/dev/null || echo refused; umount /tmp 2>/dev/null || echo refused", "refused\nrefused\n"},
		{"has what is masked masked", "cat /proc/kcore /proc/keys /proc/timer_list 2>/dev/null | wc -c; echo x 2>/dev/null > /proc/sys/kernel/hostname || echo refused", "0\nrefused\n"},
		{"inherits no descriptor", "ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3 "},
		{"reaps what is orphaned", "(sh -c 'sleep 0.01 & exit 0' &) ; sleep 0.3; ps -eo stat= | grep -c Z", "0\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if r := testutil.Run(t, e, s.ID, tt.line); r.Stdout != tt.want && tt.name != tests[0].name {
				t.Errorf("got %q (stderr %q, %+v), want %q", r.Stdout, r.Stderr, r.Error, tt.want)
			} else if tt.name == tests[0].name && (!strings.HasPrefix(r.Stdout, "2\n2 ") || strings.Count(r.Stdout, " ") > 5) {
				t.Errorf("it sees %q", r.Stdout)
			}
		})
	}
	queue := "import ctypes, errno\nlibc = ctypes.CDLL(None, use_errno=True)\nprint(libc.shmget(77, 4096, 0o1600))"
	for range 2 {
		if r := testutil.Execute(t, e, s.ID, testutil.Python(queue)); r.Stdout != "0\n" { // IPC_CREAT: the first segment of a new namespace
			t.Errorf("shared memory of System V: %q, %q", r.Stdout, r.Stderr)
		}
	}
}

// TestLayerTellsHowItsCommandEnded: the keeper in between reports the command's end completely.
func TestLayerTellsHowItsCommandEnded(t *testing.T) {
	e := testutil.Executor(t)
	s := layered(t, e)
	for _, tt := range []struct {
		line       string
		exit       int
		kind, says string
	}{
		{"echo done; exit 7", 7, "", "done\n"},
		{"kill -SEGV $$", 139, yurt.ErrorTypeSignaled, ""},
		{"kill -KILL $$", 137, yurt.ErrorTypeSignaled, ""},
		{"(sleep 300 >/dev/null 2>&1 &) ; echo left", 0, "", "left\n"},
	} {
		r := testutil.Run(t, e, s.ID, tt.line)
		if r.ExitCode != tt.exit || r.Stdout != tt.says {
			t.Errorf("%s: exit %d, %q, %+v", tt.line, r.ExitCode, r.Stdout, r.Error)
		}
		if tt.kind != "" {
			testutil.WantErrorType(t, r, tt.kind)
		}
	}
	missing := testutil.Command("")
	missing.Command = []string{"/nowhere"}
	if r := testutil.Execute(t, e, s.ID, missing); r.ExitCode != 127 {
		t.Errorf("a command that is not there: %+v", r)
	}
	// Background processes ended with their execution, and no execution has a leaf.
	testutil.Eventually(t, "nothing is left", func() bool {
		list, err := e.Sandboxes(t.Context())
		return err == nil && len(list) == 1 && hostProcesses(t, s) == 1 // its init
	})
	long := testutil.Command("trap '' TERM INT; echo begun; (sleep 300 &); while :; do sleep 0.1; done", testutil.Timeout(testutil.Moment(t, time.Second)))
	testutil.WantErrorType(t, testutil.Execute(t, e, s.ID, long), yurt.ErrorTypeTimeout)
	testutil.Eventually(t, "nothing is left after a timeout", func() bool { return hostProcesses(t, s) == 1 })
}

func TestProgramsWorkInALayer(t *testing.T) {
	e := testutil.Executor(t)
	s := layered(t, e)
	for name, spec := range programs() {
		t.Run(name, func(t *testing.T) {
			spec.Timeout = yurt.Duration(time.Minute)
			if r := testutil.Execute(t, e, s.ID, spec); r.Stdout != "works\n" || r.ExitCode != 0 {
				t.Errorf("exit %d, stdout %.200q, stderr %.2000q, %+v", r.ExitCode, r.Stdout, r.Stderr, r.Error)
			}
		})
	}
}

func TestUlimits(t *testing.T) {
	e := testutil.Executor(t)
	for _, perExecution := range []bool{false, true} {
		s := testutil.Create(t, e, func(s *yurt.SandboxSpec) {
			s.Template.Isolation.PerExecution = perExecution
			s.Template.Resources.Ulimits = yurt.Ulimits{NoFile: 99, FSize: 1 << 20, Stack: 4 << 20}
		})
		r := testutil.Run(t, e, s.ID, "ulimit -n; ulimit -Hn; ulimit -s; ulimit -f; ulimit -n 100 2>/dev/null || echo refused; head -c 2000000 /dev/zero > /workspace/x; stat -c %s /workspace/x")
		if want := "99\n99\n4096\n2048\nrefused\n1048576\n"; r.Stdout != want {
			t.Errorf("got %q, want %q (%q)", r.Stdout, want, r.Stderr)
		}
	}
	own := testutil.Create(t, e, func(s *yurt.SandboxSpec) {
		s.Template.Resources.Ulimits = yurt.Ulimits{NoFile: 99, FSize: 1 << 20}
		s.Resources.Ulimits = yurt.Ulimits{NoFile: 3000}
	})
	if r := testutil.Run(t, e, own.ID, "ulimit -n; ulimit -f"); r.Stdout != "3000\n2048\n" {
		t.Errorf("with ulimits of its own there are %q", r.Stdout)
	}
	s := testutil.Create(t, e)
	if r := testutil.Run(t, e, s.ID, "ulimit -n"); r.Stdout != "4096\n" {
		t.Errorf("without ulimits of the template's there are %q", r.Stdout)
	}
	spec := testutil.Spec()
	spec.Template.Resources.Ulimits.NoFile = yurt.MaxNoFile + 1
	if _, err := e.CreateSandbox(t.Context(), spec); yurt.CodeOf(err) != yurt.CodeLimitOutOfRange {
		t.Errorf("too many open files gave %v", err)
	}
}

// TestNoCoreDumps: a limit that code cannot change decides about the kernel's dump of a crash, and a limit of 0 would
// not do on a host that pipes core dumps to a program.
func TestNoCoreDumps(t *testing.T) {
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	r := testutil.Execute(t, e, s.ID, testutil.Python(`
import ctypes, os, resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
print(resource.getrlimit(resource.RLIMIT_CORE))
libc = ctypes.CDLL(None, use_errno=True)
for call in (160, 302) if os.uname().machine == 'x86_64' else (164, 261):
    print([libc.syscall(call, *map(ctypes.c_long, args)) for args in ((4 | 1 << 32, 0, 0, 0), (0, 4 | 1 << 32, id(b'\0' * 99), 0))], resource.getrlimit(resource.RLIMIT_CORE)[0])
pid = os.fork()
if pid == 0: os.abort()
print(os.WCOREDUMP(os.waitpid(pid, 0)[1]))`))
	if r.Stdout != "(1, 1)\n[0, -1] 1\n[-1, 0] 1\nFalse\n" { // the kernel takes the lower half of a resource's number, and so does the filter
		t.Errorf("got %q, %q", r.Stdout, r.Stderr)
	}
}

func TestClocksBeginWithTheSandbox(t *testing.T) {
	e := testutil.Executor(t)
	before := uptime(t)
	s := testutil.Create(t, e)
	r := testutil.Execute(t, e, s.ID, testutil.Python("import time\nprint(time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME), open('/proc/uptime').read().split()[0])"))
	age := uptime(t) - before + 2 // whole seconds are subtracted from the clocks
	var monotonic, boottime, file float64
	if _, err := fmt.Sscan(r.Stdout, &monotonic, &boottime, &file); err != nil || max(monotonic, boottime, file) > age {
		t.Errorf("a sandbox of at most %.1f s has clocks that show %q, %q", age, r.Stdout, r.Stderr)
	}
}

// uptime is that of the host, in seconds.
func uptime(t *testing.T) float64 {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		t.Fatal(err)
	}
	return time.Duration(now.Nano()).Seconds()
}

// hostProcesses counts the processes of the sandbox, by their user namespace.
func hostProcesses(t *testing.T, s yurt.Sandbox) int {
	t.Helper()
	own, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/user", s.PID))
	if err != nil {
		t.Fatal(err)
	}
	namespaces, err := filepath.Glob("/proc/[0-9]*/ns/user")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, path := range namespaces {
		if namespace, err := os.Readlink(path); err == nil && namespace == own {
			count++
		}
	}
	return count
}
