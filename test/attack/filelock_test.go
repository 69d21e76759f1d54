package attack

import (
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestLocksThatInitCounts: a sandbox has a bounded number of locks of files, however its processes hold them.
func TestLocksThatInitCounts(t *testing.T) { runLocking(t, lockHoards()) }

// TestLocksAsEver: below that number locks of files work as without it.
func TestLocksAsEver(t *testing.T) { runLocking(t, lockPrograms()) }

func runLocking(t *testing.T, programs map[string]string) {
	t.Helper()
	a := newArena(t)
	sandbox := a.create(t, func(s *yurt.SandboxSpec) { s.Template.Isolation.SystemCalls = nil })
	for name, code := range programs {
		t.Run(name, func(t *testing.T) {
			spec := program(locking + code)
			spec.Timeout = yurt.Duration(testutil.Moment(t, spec.Timeout.Std()))
			held(t, a.execute(t, sandbox, spec))
		})
	}
	a.works(t, "the sandbox", sandbox)
}

// locking declares ranges, which locks so many ranges of a file and returns how many it got, and whole, which does so with a
// file as a whole for each descriptor or mapping.
const locking = `
import fcntl, resource
MOST, MAPPED = 8 << 10, 16 << 10
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
libc.mmap.restype = ctypes.c_void_p
def new():
    global path
    path = f'/tmp/locked{os.getpid()}'; open(path, 'w').write('x')
new()
def ranges(f, most=MOST * 2, get=6):
    "Of one file: each further lock takes longer."
    for n in range(most):
        try: fcntl.fcntl(f, get, struct.pack('hhqqi4x', 1, 0, (1 << 40) - 2 * n, 1, 0))
        except OSError as e:
            assert e.errno == errno.ENOLCK, e
            return n
    return most
def whole(most, mapped):
    for n in range(most):
        fd = os.open(path, 0)
        try: fcntl.flock(fd, fcntl.LOCK_SH)
        except OSError as e:
            assert e.errno == errno.ENOLCK, e
            return n
        if mapped:
            if libc.mmap(None, 4096, 1, 1, fd, 0) == ctypes.c_void_p(-1).value: return n
            os.close(fd)
    return most
def room():
    "Returns soon, when there is room again."
    with open(path, 'w') as f:
        for _ in range(100):
            try: return fcntl.lockf(f, fcntl.LOCK_EX)
            except OSError: time.sleep(0.05)
        got('no room')
def forked(do):
    "Does it in a process, which then lives until it is killed."
    hear, say = os.pipe(); pid = os.fork()
    if pid == 0:
        new(); os.write(say, struct.pack('i', do())); signal.pause()
    os.close(say)
    return pid, struct.unpack('i', os.read(hear, 4))[0]
def end(*pids):
    for pid in pids: os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0)
`

func lockHoards() map[string]string {
	return map[string]string{
		"locks of ranges": `
for get in 6, 37: # of processes, and of descriptors
    with open(path, 'w') as f: n = ranges(f, get=get)
    assert MOST * 0.95 < n <= MOST, n
    room()
`,
		"locks of many processes": `
children = [forked(lambda: whole(1000, False)) for _ in range(12)]
n = sum(n for _, n in children)
assert MOST * 0.95 < n <= MOST, n
end(*(pid for pid, _ in children)); room()
`,
		"locks without a descriptor": `
children = [forked(lambda: whole(1000, True)) for _ in range(32)]
n = sum(n for _, n in children)
assert MAPPED < n <= MAPPED + MOST, n
end(*(pid for pid, _ in children)); room()
`,
		"locks whose process is never there": `
# A chain of processes, each of which hands the descriptors on to the next and ends.
hear, say = os.pipe(); pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    with open(path, 'w') as f: os.write(say, struct.pack('i', ranges(f, MOST * 3 // 4, 37))); f = os.dup(f.fileno())
    while True:
        if os.fork(): os._exit(0)
first = struct.unpack('i', os.read(hear, 4))[0]; os.waitpid(pid, 0)
with open(path + 'x', 'w') as f: n = ranges(f)
os.killpg(pid, signal.SIGKILL)
assert first + n <= MOST + (MOST // 64), (first, n)
`,
		"locks of a program that cannot be read": `
hear, say = os.pipe(); os.set_blocking(say, False)
try:
    while True: os.write(say, b'x' * 4096) # so that the program waits when it says that it is not started like this
except BlockingIOError: os.set_blocking(say, True)
f = open(path, 'w'); os.set_inheritable(f.fileno(), True); told, tell = os.pipe(); pid = os.fork()
if pid == 0:
    os.write(tell, struct.pack('i', ranges(f, MOST * 3 // 4)))
    os.dup2(say, 1); os.dup2(say, 2); os.execv('/.yurt-init', ['x'])
first = struct.unpack('i', os.read(told, 4))[0]
time.sleep(0.5); os.kill(pid, 0)
with open(path + 'x', 'w') as other: n = ranges(other)
assert first + n <= MOST, (first, n)
end(pid); room()
`,
		"owners of files": `
said = 0
try:
    with open(path) as f:
        while said <= 1 << 16: fcntl.fcntl(f, fcntl.F_SETOWN, os.getpid()); said += 1
except OSError as e: assert e.errno == errno.ENOMEM, e
assert said <= 1 << 16, said
for request in 0x8901, 0x8902: fails(request, lambda: fcntl.ioctl(socket.socket(socket.AF_UNIX), request, struct.pack('i', os.getpid())))
`,
	}
}

func lockPrograms() map[string]string {
	return map[string]string{
		"locks as ever": `
# A lock holds against others, is waited for, is given up by an interrupted wait, and ends with its process.
f = open(path, 'r+'); fcntl.lockf(f, fcntl.LOCK_EX)
locked = path
def tries():
    with open(locked, 'r+') as other:
        try: fcntl.lockf(other, fcntl.LOCK_EX | fcntl.LOCK_NB); got('a lock that another process has')
        except BlockingIOError: pass
        signal.signal(signal.SIGALRM, lambda *_: 1 / 0); signal.setitimer(signal.ITIMER_REAL, 0.2)
        try: fcntl.lockf(other, fcntl.LOCK_EX); got('a lock that another process has')
        except ZeroDivisionError: pass
        fcntl.flock(other, fcntl.LOCK_EX)
    return 1
pid, _ = forked(tries); end(pid)
pid = os.fork()
if pid == 0:
    with open(path, 'r+') as other: fcntl.lockf(other, fcntl.LOCK_EX); os._exit(7)
time.sleep(0.1); fcntl.lockf(f, fcntl.LOCK_UN)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
`,
		"no other kinds": `
f = open(path, 'w')
for request in fcntl.F_SETLEASE, fcntl.F_NOTIFY, 1040:
    try: fcntl.fcntl(f, request, 1); got(request)
    except OSError as e: assert e.errno == errno.EINVAL, e
assert syscall('clone', 0x10f00 & ~0x400) == -errno.EPERM # a thread with files of its own
`,
	}
}
