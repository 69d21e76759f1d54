package attack

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestNeighbours has one sandbox leave everything that it can where another may find
// it, and the other look.
func TestNeighbours(t *testing.T) {
	a := newArena(t)
	small := func(*yurt.SandboxSpec) {}
	left, right := a.create(t, small), a.create(t, small)
	leaving := program(`
for where in ('/tmp', '/dev/shm', '/workspace'): open(where + '/found', 'w').write('secret')
server = socket.socket(socket.AF_UNIX); server.bind('\0found'); server.listen()
inet = socket.socket(); inet.bind(('127.0.0.1', 8000)); inet.listen()
libc.shmget(4711, 4096, 0o1666); libc.semget(4711, 1, 0o1666); libc.msgget(4711, 0o1666)
os.mkfifo('/tmp/fifo')
os.mkdir('/tmp/pid-' + str(os.getpid()))
os.environ['FOUND'] = 'secret'
print('left', flush=True)
time.sleep(60)
`)
	if err := a.StartExecution(t.Context(), left, leaving); err != nil {
		t.Fatal(err)
	}
	waitFor(t, a, left, leaving.ID, "left\n")
	held(t, a.execute(t, right, program(`
for where in ('/tmp', '/dev/shm', '/workspace', '/run/yurt'):
    found = [name for name in os.listdir(where) if name != 'packages.sock'] # the node makes one of its own in each sandbox
    if found: got(where, found)
fails('abstract', lambda: socket.socket(socket.AF_UNIX).connect('\0found'))
fails('port', lambda: socket.create_connection(('127.0.0.1', 8000), 1))
for call in (libc.shmget, libc.semget, libc.msgget):
    if call(4711, 1, 0) >= 0: got('System V')
if libc.shmget(4711, 4096, 0) >= 0: got('shared memory')
seen = [p for p in os.listdir('/proc') if p.isdigit() and int(p) != os.getpid()]
if seen: got('processes', seen)
`)))
	a.works(t, "the one", left)
	a.works(t, "the other", right)
}

// waitFor waits until the execution has printed text.
func waitFor(t *testing.T, a *arena, sandbox, execution, text string) {
	t.Helper()
	var printed strings.Builder
	enough := fmt.Errorf("enough")
	err := a.WatchExecution(t.Context(), sandbox, execution, 0, func(e yurt.Event) error {
		printed.Write(e.Data)
		if strings.Contains(printed.String(), text) {
			return enough
		}
		return nil
	})
	if err != enough { //nolint:errorlint // it is handed through as it is
		t.Fatalf("it printed %q: %v", &printed, err)
	}
}

// TestNeighbourThatTakesAllItCan measures the share of CPU that is left for another sandbox.
func TestNeighbourThatTakesAllItCan(t *testing.T) {
	a := newArena(t)
	quarter := func(s *yurt.SandboxSpec) { s.Resources.CPU = 0.25 }
	greedy := a.create(t, quarter)
	modest := a.create(t, quarter)
	bomb := program(`
for _ in range(30):
    if os.fork() == 0:
        while True: pass
while True: open('/tmp/x', 'wb').write(bytes(1 << 20))
`)
	if err := a.StartExecution(t.Context(), greedy, bomb); err != nil {
		t.Fatal(err)
	}
	testutil.Eventually(t, "it takes what it can", func() bool { return a.used(t, greedy) > 0.1 })
	before := a.used(t, greedy)
	r := a.execute(t, modest, program(`
end = time.time() + 2
while time.time() < end: pass
print(time.process_time())
`))
	took := a.used(t, greedy) - before
	text, ok := strings.CutSuffix(r.Stdout, "\nheld\n")
	used, err := strconv.ParseFloat(text, 64)
	if !ok || err != nil {
		t.Fatalf("it printed %q, %q", r.Stdout, r.Stderr)
	}
	// Half of its share, or as much of this machine's free time as the other got, on one of two
	// processors at least, in a time that is longer than these two seconds.
	if used < 0.25 && used < took/4 {
		t.Errorf("it got %.2f s of 0.5 s of CPU, and the other %.2f s", used, took)
	}
}

// used returns the CPU seconds that a sandbox has had.
func (a *arena) used(t *testing.T, sandbox string) float64 {
	t.Helper()
	stats, err := a.SandboxStats(t.Context(), sandbox)
	if err != nil {
		t.Fatal(err)
	}
	return stats.CPUSeconds
}

// TestManyFloodsAtOnce has more output on its way to the host than init may hold.
func TestManyFloodsAtOnce(t *testing.T) {
	a := newArena(t)
	sandbox := a.create(t, func(s *yurt.SandboxSpec) { s.Resources.PIDs, s.Resources.Memory = 500, 512<<20 })
	const floods, size = 60, 4 << 20
	var group errgroup.Group
	for range floods {
		group.Go(func() error {
			spec := shell(fmt.Sprintf(`head -c %d /dev/zero | tr '\0' x`, size))
			spec.OutputLimit, spec.Timeout = size, yurt.Duration(5*time.Minute)
			if err := a.StartExecution(t.Context(), sandbox, spec); err != nil {
				return err
			}
			r, err := a.WaitExecution(t.Context(), sandbox, spec.ID)
			if err != nil {
				return err
			}
			if r.Error != nil || len(r.Stdout) != size {
				return fmt.Errorf("%d bytes came of %d, %+v", len(r.Stdout), size, r.Error)
			}
			return a.ForgetExecution(t.Context(), sandbox, spec.ID)
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	a.works(t, "the sandbox", sandbox)
}

// TestWorkingDirectories asks for executions to begin where a descriptor of init
// leads (CVE-2024-21626), by name and by a link that the program left.
func TestWorkingDirectories(t *testing.T) {
	a := newArena(t)
	sandbox := a.create(t, func(*yurt.SandboxSpec) {})
	a.execute(t, sandbox, shell(`for n in $(seq 0 40); do ln -s /proc/self/fd/$n /workspace/fd$n; done; ln -s /proc/1/root /workspace/root`))
	var dirs []string
	for n := range 41 {
		dirs = append(dirs, fmt.Sprintf("/proc/self/fd/%d", n), fmt.Sprintf("fd%d", n), fmt.Sprintf("/proc/1/fd/%d", n), fmt.Sprintf("/dev/fd/%d", n))
	}
	dirs = append(dirs, "/proc/1/root", "/proc/1/cwd", "root", "/proc/self/root/..", "/proc/self/cwd/../../../..", "/proc/self/task/../root", "/proc/thread-self/cwd")
	for _, dir := range dirs {
		spec := program(`
try: here = os.getcwd()
except OSError as e: here = '(unreachable) ' + str(e)
top = os.open('/'.join(['..'] * 20), os.O_RDONLY)
if not os.path.samestat(os.fstat(top), os.stat('/')) or here.startswith('(') or 'workspace' not in os.listdir(top): got(here, os.listdir(top))
`)
		spec.Cwd = dir
		if err := a.StartExecution(t.Context(), sandbox, spec); err != nil {
			if code := yurt.CodeOf(err); code != yurt.CodeInvalidArgument && code != yurt.CodeInvalidPath {
				t.Errorf("%s: %v (%s)", dir, err, code)
			}
			continue
		}
		r, err := a.WaitExecution(t.Context(), sandbox, spec.ID)
		if err != nil {
			t.Fatal(err)
		}
		if r.Error == nil || strings.Contains(r.Stdout, "got") {
			held(t, r)
		}
	}
	a.works(t, "the sandbox", sandbox)
}
