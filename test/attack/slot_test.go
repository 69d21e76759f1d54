package attack

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/pkgsocket"
	"github.com/yurtrun/yurt/test/testutil"
)

// survivors are programs that want to be there when their session is over: with sessions and
// process groups of their own, deaf to signals, stopped, traced, or starting themselves anew.
const survivors = `
def survive(do):
    if os.fork(): return
    os.setsid()
    if os.fork(): os._exit(0)
    for number in range(1, 65):
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
    null = os.open('/dev/null', os.O_RDWR)
    for fd in range(3): os.dup2(null, fd)
    libc.prctl(15, %q.encode(), 0, 0, 0)
    do()
def again():
    while True:
        if os.fork(): os._exit(0)
def hold():
    kept = [os.open(p, os.O_RDONLY) for p in ('/workspace', '/tmp', '/dev/shm', '/proc')] + [open('/workspace/mark', 'w')]
    while True: time.sleep(0.1); open('/workspace/mark', 'w').write('mine')
survive(hold)
survive(lambda: os.kill(os.getpid(), signal.SIGSTOP))
survive(again)
time.sleep(0.5)
for path in ('/workspace', '/tmp', '/dev/shm'): open(path + '/mine', 'w').write('mine')
for fd in range(3, 64):
    try: os.write(fd, b'{"warm":true}\n')
    except OSError: pass
`

// named returns the processes of the host that have called themselves so.
func named(t *testing.T, name string) (found []string) {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range list {
		if comm, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(comm)) == name {
			found = append(found, path)
		}
	}
	return found
}

// TestSlots attack the end of a slot. They must fail, since a sandbox ends with its first process,
// which code cannot keep alive, and its cgroup is killed besides; and since a claim is recorded on
// the node's disk, which code does not reach, before the claimer gets its sandbox.
func TestSlots(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.Transient = true
	e := testutil.Start(t, config)
	a := &arena{Executor: e}
	a.bystander = a.create(t, func(*yurt.SandboxSpec) {})
	name := fmt.Sprintf("yurt%d", os.Getpid()%100000)
	small := yurt.Resources{CPU: 1, Memory: 128 << 20, Disk: 32 << 20, PIDs: 64}
	for i, end := range []struct {
		name string
		once bool
		do   func(slot, sandbox string) error
	}{
		{"the sandbox is destroyed", false, func(_, sandbox string) error { return e.DestroySandbox(t.Context(), sandbox) }},
		{"the slot is closed", false, func(slot, _ string) error { return e.CloseSlot(t.Context(), slot) }},
		{"the slot is for one", true, func(_, sandbox string) error { return e.DestroySandbox(t.Context(), sandbox) }},
	} {
		t.Run(end.name, func(t *testing.T) {
			slot := yurt.SlotSpec{ID: fmt.Sprintf("attacked-%d", i), Template: testutil.Template(), Resources: small, Once: end.once}
			if _, err := e.OpenSlot(t.Context(), slot); err != nil {
				t.Fatal(err)
			}
			spec := yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: testutil.Template(), Resources: small}
			s, err := e.AwaitSandbox(t.Context(), spec, slot.ID)
			if err != nil {
				t.Fatal(err)
			}
			held(t, a.execute(t, s.ID, program(fmt.Sprintf(survivors, name))))
			testutil.Eventually(t, "something survives the execution, or nothing would be shown", func() bool { return len(named(t, name)) > 0 })
			if err := end.do(slot.ID, s.ID); err != nil {
				t.Fatal(err)
			}
			testutil.Eventually(t, "every process of the session is gone", func() bool { return len(named(t, name)) == 0 })
			afterwards(t, a, slot, spec, s.ID)
		})
	}
	a.works(t, "the bystander", a.bystander)
}

// afterwards looks for remains of a session's sandbox: in the reserve, in the slot, and in the next
// session's sandbox.
func afterwards(t *testing.T, a *arena, slot yurt.SlotSpec, spec yurt.SandboxSpec, was string) {
	t.Helper()
	if _, err := a.StatFile(t.Context(), was, "mine"); yurt.CodeOf(err) != yurt.CodeSandboxNotFound {
		t.Errorf("its files are there still: %v", err)
	}
	if slot.Once {
		if ended, err := a.WaitSlot(t.Context(), slot.ID); err != nil || ended.Failed {
			t.Errorf("the slot is %+v, %v", ended, err)
		}
	} else if _, err := a.OpenSlot(t.Context(), slot); err != nil { // again, if it was closed
		t.Fatal(err)
	}
	if err := a.CloseSlot(t.Context(), "attacked-none"); err != nil {
		t.Fatal(err)
	}
	if !slot.Once {
		next, err := a.AwaitSandbox(t.Context(), spec, slot.ID)
		if err != nil || next.ID == was {
			t.Fatalf("the next sandbox is %+v, %v", next, err)
		}
		r := a.execute(t, next.ID, shell("find /workspace /tmp /dev/shm -type f; ls /proc | grep -c '^[0-9]'"))
		if strings.Contains(r.Stdout, "/") {
			t.Errorf("the next session finds %q", r.Stdout)
		}
	}
	if _, found, err := a.ClaimSandbox(t.Context(), spec); err != nil || found {
		t.Errorf("there is something in the reserve: %v, %v", found, err)
	}
	if err := a.CloseSlot(t.Context(), slot.ID); err != nil {
		t.Error(err)
	}
}

// socketsBelow returns the paths of the sockets below a directory, quoted.
func socketsBelow(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type() == fs.ModeSocket {
			paths = append(paths, strconv.Quote(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// TestSocketsOfTheNode tries each socket that has a name on the node: those of the executor's
// runtimes, of its launcher, of the sandbox's own init, and all others. It must fail, since no
// path inside leads to one, and names without a path belong to the network namespace. The socket
// for packages alone is in a sandbox on purpose; test/packages attacks it.
func TestSocketsOfTheNode(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.Transient = true
	a := &arena{Executor: testutil.Start(t, config)}
	sandbox := a.create(t, func(*yurt.SandboxSpec) {})
	paths := socketsBelow(t, config.StateDir)
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		t.Fatal(err)
	}
	own := false
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 8 && strings.ContainsAny(fields[7][:1], "/@") {
			paths = append(paths, fmt.Sprintf("%q", fields[7]))
			own = own || strings.Contains(fields[7], "init.sock")
		}
	}
	if !own {
		t.Fatalf("the socket of an init is not among %q", paths)
	}
	held(t, a.execute(t, sandbox, program(fmt.Sprintf(`
names = [%s]
before = os.listdir('/run/yurt')
for name in names:
    name = name.replace('@', '\0', 1) if name[0] == '@' else name
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        for prefix in ('', '/proc/1/root', '/proc/1/cwd', '/proc/self/root/..'):
            if len(prefix + name) > 107 or prefix and name[0] == '\0': continue
            with socket.socket(socket.AF_UNIX, kind) as s: fails((prefix, name), lambda: s.connect(prefix + name))
for path, _, found in os.walk('/run'):
    for f in found:
        if stat.S_ISSOCK(os.lstat(os.path.join(path, f)).st_mode) and os.path.join(path, f) != %q: got(path, f)
for fd in os.listdir('/proc/self/fd'):
    try: target = os.readlink('/proc/self/fd/' + fd)
    except OSError: continue
    if target.startswith('socket:'): got(fd, target)
`, strings.Join(paths, ", "), pkgsocket.Path))))
	a.works(t, "the sandbox", sandbox)
}
