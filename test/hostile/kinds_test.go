package hostile

import (
	"context"
	"fmt"
	"strings"

	"github.com/yurtrun/yurt"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
)

// kind is one way to harm a node. It goes on until the context ends or its session does.
type kind struct {
	name string
	// program is Python that never ends, or that is started anew when it does.
	program string
	// flood is a client that harms the node by the API, in place of a program.
	flood func(ctx context.Context, c *yurtclient.Client, session string, round int)
}

// imports come before each program.
const imports = `
import ctypes, errno, mmap, os, select, signal, socket, subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def forks(n):
    "Has n processes run what follows."
    for _ in range(n):
        try:
            if os.fork() == 0: return
        except OSError: return
def tried(do):
    try: return do()
    except (OSError, MemoryError, RuntimeError): time.sleep(0.0001)
`

// kinds are the ways to harm a node.
func kinds() []kind { return append(programs(), floods()...) }

// programs are those of code in a sandbox.
func programs() []kind {
	return []kind{
		{name: "fork bomb", program: `
while True:
    tried(lambda: os.fork())
`},
		{name: "orphans and zombies", program: `
def orphan():
    pid = os.fork()
    if pid == 0:
        try: os.fork()
        finally: os._exit(0)
    os.waitpid(pid, 0)
while True: tried(orphan)
`},
		{name: "exec storm", program: `
forks(3)
while True: tried(lambda: os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0))
`},
		{name: "memory pressure", program: `
hoard = []
while True: hoard.append(bytearray(os.urandom(1 << 16) * 16))
`},
		{name: "memory that comes and goes", program: `
forks(3)
while True:
    m = mmap.mmap(-1, 8 << 20)
    for at in range(0, 8 << 20, 4096): m[at] = 1
    m.close()
`},
		{name: "input and output", program: `
forks(2)
n = os.getpid()
while True:
    def cycle():
        with open(f'/workspace/{n}', 'wb', 0) as f:
            for _ in range(64): f.write(bytes(1 << 16))
            os.fsync(f.fileno()); os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        os.sync()
    tried(cycle)
`},
		{name: "output flood", program: `
line = b'x' * 65536
forks(1)
while True: os.write(1, line); os.write(2, line)
`},
		{name: "output in crumbs", program: `
forks(1)
while True: os.write(1, b'x'); os.write(2, b'y')
`},
		{name: "signal storm", program: `
signal.signal(signal.SIGUSR1, lambda *_: None)
group = os.getpid()
os.setpgid(0, 0)
forks(8)
while True: tried(lambda: os.kill(-group, signal.SIGUSR1))
`},
		{name: "sockets", program: `
server = socket.create_server(('127.0.0.1', 0), backlog=128)
port = server.getsockname()[1]
def serve():
    while True: tried(lambda: server.accept()[0].close())
threading.Thread(target=serve).start()
while True:
    def visit():
        with socket.create_connection(('127.0.0.1', port), 1) as s: s.send(b'x' * 1000)
        a, b = socket.socketpair(); a.send(b'x'); a.close(); b.close()
    tried(visit)
`},
		{name: "file churn", program: `
forks(2)
n = os.getpid()
while True:
    def cycle():
        for i in range(50):
            with open(f'/workspace/{n}-{i}', 'w') as f: f.write('x')
            os.rename(f'/workspace/{n}-{i}', f'/workspace/{n}-{i}-moved')
        os.listdir('/workspace')
        for i in range(50): os.unlink(f'/workspace/{n}-{i}-moved')
    tried(cycle)
`},
		{name: "futex storm", program: `
word = (ctypes.c_int * 1)()
def storm():
    while True: libc.syscall(202 if os.uname().machine == 'x86_64' else 98, word, 1, 1000, None, None, 0); libc.sched_yield()
def wait():
    while True: libc.syscall(202 if os.uname().machine == 'x86_64' else 98, word, 0, 0, ctypes.byref((ctypes.c_long * 2)(0, 1000)), None, 0)
for do in [storm] * 4 + [wait] * 12: tried(lambda: threading.Thread(target=do).start())
`},
		{name: "timers", program: `
class spec(ctypes.Structure): _fields_ = [('interval', ctypes.c_long * 2), ('value', ctypes.c_long * 2)]
signal.signal(signal.SIGALRM, signal.SIG_IGN)
timers = []
for n in range(200):
    fd = libc.timerfd_create(1, 0o4000)
    if fd < 0: break
    each = spec(); each.interval[1] = each.value[1] = 1000 + n
    libc.timerfd_settime(fd, 0, ctypes.byref(each), None)
    timers.append(fd)
forks(3)
signal.setitimer(signal.ITIMER_REAL, 0.00001, 0.00001)
poll = select.poll()
for fd in timers: poll.register(fd, select.POLLIN)
while True:
    for fd, _ in poll.poll(): tried(lambda: os.read(fd, 8))
`},
		{name: "interrupts of processors", program: `
NR = 324 if os.uname().machine == 'x86_64' else 283
libc.syscall(NR, 16, 0)         # registers for expedited barriers
def storm():
    while True: libc.syscall(NR, 8, 0)
for _ in range(8): tried(lambda: threading.Thread(target=storm).start())
`},
		{name: "moves between processors", program: `
processors = sorted(os.sched_getaffinity(0))
forks(7)
while True:
    for one in processors: tried(lambda: os.sched_setaffinity(0, {one}))
    os.sched_setaffinity(0, processors)
`},
		{name: "page tables", program: `
def storm():
    while True:
        m = mmap.mmap(-1, 1 << 20); m[::4096] = bytes(256); m.madvise(mmap.MADV_DONTNEED); m.close()
for _ in range(8): tried(lambda: threading.Thread(target=storm).start())
`},
		{name: "reading /proc", program: `
forks(3)
names = [n for n in ('/proc/self/smaps', '/proc/stat', '/proc/interrupts', '/proc/meminfo', '/proc/vmstat', '/proc/zoneinfo', '/proc/self/mountinfo', '/proc/net/tcp')]
while True:
    for name in names: tried(lambda: open(name, 'rb').read())
    tried(lambda: [open(f'/proc/{p}/status').read() for p in os.listdir('/proc') if p.isdigit()])
`},
		{name: "pipes", program: `
pairs = [os.pipe() for _ in range(8)]
forks(8)
while True:
    for r, w in pairs: os.write(w, b'x' * 4096); os.read(r, 4096)
`},
		{name: "busy loops", program: `
forks(30)
while True: pass
`},
	}
}

// floods are those of clients. Each call is one after another, as fast as the server answers.
func floods() []kind {
	return []kind{
		{name: "flood of contexts", flood: func(ctx context.Context, c *yurtclient.Client, session string, round int) {
			name := fmt.Sprintf("context%d", round%6)
			_, _ = c.Execute(ctx, session, yurtclient.ExecuteRequest{Code: "1", Language: "python", Context: yurtclient.InContext(name)})
			_ = c.RemoveContext(ctx, session, name, "python")
		}},
		{name: "flood of executions", flood: func(ctx context.Context, c *yurtclient.Client, session string, _ int) {
			_, _ = c.Execute(ctx, session, yurtclient.ExecuteRequest{Command: yurtclient.Command{Argv: []string{"/bin/true"}}})
		}},
		{name: "flood of output by the API", flood: func(ctx context.Context, c *yurtclient.Client, session string, _ int) {
			_, _ = c.Execute(ctx, session, yurtclient.ExecuteRequest{Command: yurtclient.Command{Shell: "head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2"}})
		}},
		{name: "flood of files by the API", flood: func(ctx context.Context, c *yurtclient.Client, session string, round int) {
			name := fmt.Sprintf("dir%d/file", round%10)
			_, _ = c.PutFile(ctx, session, name, strings.NewReader(strings.Repeat("x", 1<<16)))
			_, _ = c.ListFiles(ctx, session, ".", yurtclient.ListFilesOptions{})
			_ = c.RemoveFile(ctx, session, name, false)
		}},
		{name: "flood of errors by the API", flood: func(ctx context.Context, c *yurtclient.Client, session string, _ int) {
			_, _ = c.Execution(ctx, session, "exe_aaaaaaaaaaaaaaaaaaaaaaaaaa")
			_, _ = c.Execute(ctx, session, yurtclient.ExecuteRequest{Code: "1", Language: "none"})
			_, _ = c.Session(ctx, "ses_none")
		}},
	}
}

// small are limits of a hostile sandbox, ten of which have one core together.
func small() *yurtclient.Resources {
	return &yurtclient.Resources{CPU: 1.0 / crowdSize, Memory: yurt.Size(96 << 20), Disk: yurt.Size(32 << 20), PIDs: 64}
}
