package attack

import (
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestEventFilesThatInitCounts: a sandbox has a bounded number of instances of epoll, timers and counters of events, of which the kernel
// charges up to 256 bytes each to no cgroup.
func TestEventFilesThatInitCounts(t *testing.T) {
	a := newArena(t)
	sandbox := a.create(t, func(s *yurt.SandboxSpec) { s.Template.Resources.Memory = 512 << 20 })
	for name, code := range eventPrograms() {
		t.Run(name, func(t *testing.T) {
			spec := program(makingEvents + code)
			spec.Timeout = yurt.Duration(testutil.Moment(t, spec.Timeout.Std()))
			held(t, a.execute(t, sandbox, spec))
		})
	}
	a.works(t, "the sandbox", sandbox)
}

// makingEvents declares many, which makes files in so many processes until the kernel refuses, and returns the processes and their number.
const makingEvents = `
import resource
MOST = 32 << 10
EACH = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (EACH, EACH))
def make(call):
    n = 0
    while True:
        fd = call()
        if fd < 0:
            assert ctypes.get_errno() in (errno.EMFILE, errno.ENFILE), ctypes.get_errno()
            return n
        n += 1
def many(call, processes=12):
    hear, say = os.pipe(); pids = []
    for _ in range(processes):
        pid = os.fork()
        if pid == 0: os.write(say, struct.pack('i', make(call))); signal.pause()
        pids.append(pid)
    return pids, sum(struct.unpack('i', os.read(hear, 4))[0] for _ in pids)
def room(call):
    "Returns soon, when there is room again."
    for _ in range(100):
        if call() >= 0: return
        time.sleep(0.05)
    got('no room')
`

func eventPrograms() map[string]string {
	const bounded = `
pids, n = many(call)
assert MOST * 0.95 < n <= MOST, n
for pid in pids: os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0)
room(call)
`
	return map[string]string{
		"instances of epoll": "call = lambda: libc.epoll_create1(0)\n" + bounded,
		"timers":             "call = lambda: libc.timerfd_create(1, 0)\n" + bounded,
		"counters of events": "call = lambda: libc.eventfd(0, 0)\n" + bounded,
		"files in messages, which no process has open": `
held = []
def send():
    fd = libc.epoll_create1(0)
    if fd < 0: return -1
    a, b = socket.socketpair(); a.setblocking(False)
    try: socket.send_fds(a, [b'x'], [fd])
    except OSError as e: ctypes.set_errno(errno.EMFILE); return -1
    finally: os.close(fd); a.close()
    held.append(b)
    return b.fileno()
pids, n = many(send)
assert EACH * 0.9 < n <= EACH + len(pids), n
for pid in pids: os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0)
`,
		"many of them, one after the other": `
for _ in range(2 * MOST):
    fd = libc.eventfd(0, 0); assert fd >= 0, ctypes.get_errno()
    os.close(fd)
`,
	}
}
