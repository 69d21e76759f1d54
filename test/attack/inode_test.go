package attack

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
)

// shared are files that sandboxes have of the host, of their layout and among their devices: each in a mount of another kind.
const shared = `
shared = ['/usr/bin/python3', '/usr/bin', '/usr', '/etc/passwd', '/etc/hosts', '/etc', '/', '/etc/ld.so.cache', '/dev/null', '/dev',
    '/proc/cpuinfo', '/proc/kcore']
`

// TestLocksReachNoNeighbour: a sandbox that locks every file that it can open keeps neither another sandbox nor the host from the
// same, and does not see their locks.
func TestLocksReachNoNeighbour(t *testing.T) {
	a := newArena(t)
	for _, path := range []string{"/usr/bin/python3", "/usr/bin"} { // the host's locks
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
			t.Fatal(err)
		}
	}
	lock := shared + `
import fcntl
files = []
for path in shared:
    try: fd = os.open(path, os.O_RDONLY)
    except OSError: continue
    files.append(fd)
    try: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as e: got(path, 'is locked', e)
if len(files) < 8: got('only', len(files), 'files')
`
	other := a.create(t, func(*yurt.SandboxSpec) {})
	holder := program(lock + "print('locked', flush=True)\ntime.sleep(60)\n")
	if err := a.StartExecution(t.Context(), other, holder); err != nil {
		t.Fatal(err)
	}
	waitFor(t, a, other, holder.ID, "locked\n")
	held(t, a.execute(t, a.bystander, program(lock)))
	if err := exec.CommandContext(t.Context(), "flock", "--exclusive", "--nonblock", "/etc/ld.so.cache", "true").Run(); err != nil {
		t.Errorf("the host cannot lock a file that a sandbox has locked: %v", err)
	}
}

// TestWatchesShowNoNeighbour: a sandbox that watches every file that it can name sees no program that another sandbox or the host
// starts, and its own.
func TestWatchesShowNoNeighbour(t *testing.T) {
	a := newArena(t)
	watcher := program(shared + `
fd = libc.inotify_init1(os.O_NONBLOCK)
watched = {}
for path in shared:
    wd = libc.inotify_add_watch(fd, path.encode(), 0xfff)
    if wd >= 0: watched[wd] = path
if len(watched) < 8: got('only', watched)
print('watching', flush=True)
while not os.path.exists('/workspace/end'): time.sleep(0.05)
def events():
    try: data = os.read(fd, 1 << 16)
    except BlockingIOError: return []
    found = []
    while data:
        wd, mask, _, size = struct.unpack_from('iIII', data)
        found.append((watched[wd], hex(mask), data[16:16 + size].rstrip(b'\0').decode()))
        data = data[16 + size:]
    return found
# Those of this process come last, and of the program that made the file: touch, by the shell.
for event in events():
    if event[2] not in ('sh', 'dash', 'touch', 'null', '') or event[0] == '/usr/bin/python3': got('an event', event)
os.close(os.open('/usr/bin/env', os.O_RDONLY))
if not any(event[2] == 'env' for event in events()): got('no event of its own')
`)
	sandbox := a.create(t, func(*yurt.SandboxSpec) {})
	other := a.create(t, func(*yurt.SandboxSpec) {})
	if err := a.StartExecution(t.Context(), sandbox, watcher); err != nil {
		t.Fatal(err)
	}
	waitFor(t, a, sandbox, watcher.ID, "watching\n")
	for range 5 {
		a.execute(t, other, shell("python3 -c pass; cat /etc/passwd /etc/hosts /etc/ld.so.cache /proc/cpuinfo > /dev/null; ls / /usr /usr/bin /dev > /dev/null; id"))
		if out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", "python3 -c pass; ls / /usr /usr/bin; cat /etc/ld.so.cache; perl -e 1").CombinedOutput(); err != nil {
			t.Fatalf("%v: %.200s", err, out)
		}
	}
	time.Sleep(100 * time.Millisecond)
	a.execute(t, sandbox, shell("touch /workspace/end"))
	r, err := a.WaitExecution(t.Context(), sandbox, watcher.ID)
	if err != nil {
		t.Fatal(err)
	}
	if r.Stdout != "watching\nheld\n" {
		t.Errorf("%.2000s\n%.2000s", r.Stdout, r.Stderr)
	}
}
