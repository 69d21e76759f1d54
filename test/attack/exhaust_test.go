package attack

import (
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/shortage"
)

func limits(change func(*yurt.Resources)) func(*yurt.SandboxSpec) {
	return func(s *yurt.SandboxSpec) { change(&s.Resources) }
}

func within(d time.Duration) func(*yurt.ExecutionSpec) {
	return func(s *yurt.ExecutionSpec) { s.Timeout = yurt.Duration(d) }
}

// ends demands an error of one of the types.
func ends(types ...string) func(*testing.T, *yurt.Result) {
	return func(t *testing.T, r *yurt.Result) {
		t.Helper()
		if r.Error == nil {
			t.Fatalf("it ended well: %q, %q", r.Stdout, r.Stderr)
		}
		if !strings.Contains(" "+strings.Join(types, " ")+" ", " "+r.Error.Type+" ") {
			t.Errorf("it ended with %+v, want one of %q", r.Error, types)
		}
	}
}

// TestExhaustion takes all that there is of something, and does not give it back.
func TestExhaustion(t *testing.T) {
	wage(t, exhaustions())
}

// TestResults forges a harness's report of its run: the host must take it for no more than a value
// that the program itself might have returned.
func TestResults(t *testing.T) {
	wage(t, forgedResults())
}

// endsTogether demands that few children of the program were killed before all of it was.
func endsTogether(t *testing.T, r *yurt.Result) {
	t.Helper()
	ends(yurt.ErrorTypeOutOfMemory)(t, r)
	if !strings.Contains(r.Error.Message, "ended together") {
		t.Errorf("the error is %q", r.Error.Message)
	}
	most := 2*shortage.Burst + int(r.EndedAt.Sub(r.StartedAt).Seconds()) // one more is allowed each second
	if n := strings.Count(r.Stdout, "\n"); n < shortage.Burst-1 || n > most {
		t.Errorf("%d children were killed one after the other, want %d to %d", n, shortage.Burst-1, most)
	}
}

// exhaustions take all that there is of something.
func exhaustions() []attack {
	return []attack{
		{
			name:  "fork bomb",
			fails: "processes are limited, and on timeout the whole cgroup is killed",
			layer: byCgroup,
			program: `
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    try: os.fork(); os.setsid()
    except OSError: pass
`,
			run: within(time.Second), check: ends(yurt.ErrorTypeTimeout),
		},
		{
			name:  "thread bomb",
			fails: "threads count as processes",
			layer: byCgroup,
			program: `
made = 0
try:
    while made < 1000: threading.Thread(target=time.sleep, args=(0.5,)).start(); made += 1
except RuntimeError: pass
if made > 64: got(made, 'threads')
`,
		},
		{
			name:  "zombies without end",
			fails: "a zombie counts as a process until it is reaped, and init reaps those that are orphaned",
			layer: byCgroup,
			program: `
made = 0
try:
    while made < 1000:
        if os.fork() == 0: os._exit(0)
        made += 1
except OSError: pass
if made > 64: got(made, 'zombies')
while made: os.waitpid(-1, 0); made -= 1
for n in range(500):                                # orphans, which init reaps
    def orphan():
        if os.fork() == 0: os._exit(0)
    in_child(orphan)
    time.sleep(0.0005)
`,
		},
		{
			name:  "memory bomb",
			fails: "memory is limited with swap, and the one that goes beyond is killed",
			layer: byCgroup,
			program: `
hoard = []
while True: hoard.append(bytearray(1 << 20))
`,
			check: ends(yurt.ErrorTypeOutOfMemory),
		},
		{
			name:  "memory bomb of many processes",
			fails: "the limit is of all processes together",
			layer: byCgroup,
			program: `
for _ in range(20):
    if os.fork() == 0: break
hoard = []
while True: hoard.append(bytearray(1 << 20))
`,
			run: within(20 * time.Second), check: ends(yurt.ErrorTypeOutOfMemory, yurt.ErrorTypeTimeout),
		},
		{
			name:    "children that run out of memory, one after the other",
			fails:   "the executor ends the execution after some, and has the next one wait",
			layer:   byCgroup,
			sandbox: limits(func(r *yurt.Resources) { r.Memory = 32 << 20 }),
			program: `
def eat():
    m = mmap.mmap(-1, 1 << 30)
    for n in range(0, 1 << 30, 4096): m[n] = 1
while True: print(in_child(eat), flush=True)
`,
			check: endsTogether,
		},
		{
			name:    "memory by files",
			fails:   "files in memory count towards the memory limit of their writers; init, which is charged separately, is not killed for lack of it",
			layer:   byCgroup,
			sandbox: limits(func(r *yurt.Resources) { r.Memory, r.Disk = 64<<20, 256<<20 }),
			program: `
for where in ('/tmp/x', '/workspace/x', '/dev/shm/x'):
    with open(where, 'wb') as f:
        while True:
            try: f.write(bytes(1 << 20)); f.flush()
            except OSError: break
`,
			check: func(t *testing.T, r *yurt.Result) {
				ends(yurt.ErrorTypeOutOfMemory)(t, r)
			},
		},
		{
			name:  "memory by other means",
			fails: "the kernel charges the memory that it keeps for a process to the process's cgroup",
			layer: byCgroup,
			program: `
# Pipes, sockets, queues and shared memory, each filled as far as it goes.
kept = []
try:
    while True:
        a, b = socket.socketpair()
        kept += [a, b]
        a.setblocking(False)
        try:
            while True: a.send(bytes(65536))
        except BlockingIOError: pass
        r, w = os.pipe()
        kept += [r, w]
        os.set_blocking(w, False)
        try:
            while True: os.write(w, bytes(65536))
        except BlockingIOError: pass
except OSError as e:
    if e.errno not in (errno.EMFILE, errno.ENOMEM, errno.ENOBUFS): got(e)
`,
			check: func(t *testing.T, r *yurt.Result) {
				if r.Error != nil {
					ends(yurt.ErrorTypeOutOfMemory)(t, r)
				}
			},
		},
		{
			name:  "all descriptors",
			fails: "each process has 4096",
			layer: byRlimits,
			program: `
kept = []
try:
    while len(kept) < 100000: kept.append(os.open('/dev/null', os.O_RDONLY))
except OSError as e:
    if e.errno != errno.EMFILE: got(e)
if len(kept) > 4096: got(len(kept), 'descriptors')
if libc.setrlimit(7, struct.pack('QQ', 1 << 20, 1 << 20)) == 0: got('a higher limit')
`,
		},
		{
			name:  "all inodes",
			fails: "the file systems in memory have a number of them",
			layer: bySizes,
			program: `
for where in ('/tmp', '/workspace', '/dev/shm'):
    made = 0
    try:
        while made < 200000: open(f'{where}/{made}', 'w').close(); made += 1
    except OSError as e:
        if e.errno not in (errno.ENOSPC, errno.ENOMEM): got(where, e)
    if made == 200000: got(where, 'has no end of inodes')
    subprocess.run(f'find {where} -type f -delete', shell=True)
`,
		},
		{
			name:  "the whole disk",
			fails: "the file systems in memory have a size",
			layer: bySizes,
			program: `
for where in ('/tmp', '/workspace'):
    size = 0
    with open(where + '/big', 'wb', 0) as f:
        try:
            while size < 1 << 30: size += f.write(bytes(1 << 20))
        except OSError as e:
            if e.errno != errno.ENOSPC: got(where, e)
    if size > 32 << 20: got(where, 'took', size)
    os.remove(where + '/big')
    os.truncate(os.open(where + '/sparse', os.O_RDWR | os.O_CREAT), 1 << 40)      # takes nothing
    os.remove(where + '/sparse')
`,
		},
		{
			name:  "zip bombs",
			fails: "the program writes an archive's files to a file system of a fixed size",
			layer: bySizes,
			program: `
import io, tarfile, zipfile, zlib
zeros = bytes(1 << 20)
with zipfile.ZipFile('/tmp/bomb.zip', 'w', zipfile.ZIP_DEFLATED) as z:
    for n in range(64): z.writestr(f'{n}', zeros)
deflated = zlib.compress(zeros * 16)
size = 0
for open_bomb in (lambda: zipfile.ZipFile('/tmp/bomb.zip').extractall('/workspace/zip'), lambda: [open(f'/workspace/raw{n}', 'wb', 0).write(zlib.decompress(deflated)) for n in range(64)]):
    try: open_bomb(); got('all of it')
    except OSError as e:
        if e.errno != errno.ENOSPC: got(e)
subprocess.run('rm -rf /workspace/* /tmp/*', shell=True)
`,
		},
		{
			name:  "directories as deep and as wide as can be",
			fails: "their space is bounded, and removing the sandbox does not walk them",
			layer: bySizes,
			program: `
os.chdir('/tmp')
for n in range(3000):
    os.mkdir('d' * 200); os.chdir('d' * 200)
`,
		},
		{
			name:  "output without end",
			fails: "output beyond the cap is read and dropped",
			layer: byInit,
			program: `
block = b'x' * (1 << 20)
for _ in range(300): sys.stdout.buffer.write(block); sys.stderr.buffer.write(block)
`,
			check: func(t *testing.T, r *yurt.Result) {
				if r.Error != nil || !r.Truncated.Stdout || !r.Truncated.Stderr || len(r.Stdout) > 1<<20 || r.Metrics.StdoutBytes < 300<<20 {
					t.Errorf("kept %d of %d bytes, truncated %+v, %+v", len(r.Stdout), r.Metrics.StdoutBytes, r.Truncated, r.Error)
				}
			},
		},
		{
			name:  "output in crumbs",
			fails: "a chunk of one byte costs the host little more than the byte, up to the cap",
			layer: byInit,
			program: `
for n in range(300000): os.write(1 + n % 2, b'x')
`,
			check: func(t *testing.T, r *yurt.Result) {
				if r.Error != nil || strings.TrimSuffix(r.Stdout, "held\n") != strings.Repeat("x", 150000) {
					t.Errorf("kept %d bytes, %+v", len(r.Stdout), r.Error)
				}
			},
		},
		{
			name:  "output after the end",
			fails: "an execution ends with its process, even if others hold its pipes, and dropped output blocks no process",
			layer: byInit,
			program: `
if os.fork() == 0:
    os.setsid()
    while True: os.write(1, b'y' * 65536)
time.sleep(0.2)
os.kill(os.getpid(), signal.SIGKILL)
`,
			check: ends(yurt.ErrorTypeSignaled),
		},
		{
			name:  "stopping everybody",
			fails: "a stopped process is killed as well, and init cannot be stopped",
			layer: byInit,
			program: `
for _ in range(20):
    if os.fork() == 0: time.sleep(100)
fails('init', lambda: os.kill(1, signal.SIGSTOP))
os.kill(-1, signal.SIGSTOP)
os.kill(os.getpid(), signal.SIGSTOP)
`,
			run: within(time.Second), check: ends(yurt.ErrorTypeTimeout),
		},
		{
			name:  "ignoring every signal",
			fails: "SIGKILL is sent to every process of the cgroup",
			layer: byCgroup,
			program: `
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
while True: pass
`,
			run: within(time.Second), check: ends(yurt.ErrorTypeTimeout),
		},
		{
			name:  "arguments and environment as large as can be",
			fails: "the kernel bounds them and charges them to the process",
			layer: byRlimits,
			program: `
for size, count in ((131071, 15), (131072, 1), (100, 20000), (1 << 20, 10)):
    try: subprocess.run(['/bin/true'] + ['x' * size] * count, env={'E': 'x' * min(size, 100000)})
    except OSError as e:
        if e.errno != errno.E2BIG: got(e)
`,
		},
		{
			name:    "CPU, with a small share",
			fails:   "init has a share of its own beside all runs together",
			layer:   byCgroup,
			sandbox: limits(func(r *yurt.Resources) { r.CPU = 0.2 }),
			program: `
main = os.getpid()
for _ in range(40):
    if os.fork() == 0:
        os.setsid()
        while os.getppid() == main: time.sleep(0.01) # the program ends first, and all share what it left
        while True: pass
`,
		},
		{
			name:  "inotify of the whole host",
			fails: "instances are charged to the host id that owns the user namespace, which may have a part of a user's maximum",
			layer: byRlimits,
			program: `
made = 0
while libc.inotify_init1(0) >= 0: made += 1
if not 8 <= made <= 16: got(made, 'instances')
`,
		},
		{
			name:  "terminals of the whole host",
			fails: "each sandbox's devpts has a maximum",
			layer: byMounts,
			program: `
def all():
    made = 0
    try:
        while made < 2000: os.openpty(); made += 1
    except OSError: pass
    if made > 64: got(made, 'terminals')
for _ in range(3): in_child(all)
`,
		},
		{
			name:  "asynchronous I/O of the whole host",
			fails: "the call is denied: it draws on one store for all",
			layer: byFilter,
			program: `
context = ctypes.c_ulong(0)
refused(206 if X86 else 0, 1024, ctypes.byref(context))
`,
		},
		{
			name:  "memory that TCP holds",
			fails: "it is limited as well; on cgroup v1 by a limit of its own",
			layer: byCgroup,
			program: `
def stuff():
    held = 0
    kept = []
    server = socket.socket(); server.bind(('127.0.0.1', 0)); server.listen(1000)
    try:
        for _ in range(500):
            a = socket.create_connection(server.getsockname(), 1); b, _ = server.accept(); kept += [a, b]
            for s in (a, b):
                s.setblocking(False)
                try:
                    while True: held += s.send(bytes(1 << 20))
                except BlockingIOError: pass
    except OSError: pass
    if held > 192 << 20: got(held >> 20, 'MiB')
in_child(stuff)
`,
			check: func(t *testing.T, r *yurt.Result) {
				if r.Error == nil {
					held(t, r)
				}
			},
		},
	}
}

// forgedResults are results that a harness did not make.
func forgedResults() []attack {
	code := func(text string) func(*yurt.ExecutionSpec) {
		return func(s *yurt.ExecutionSpec) {
			s.Kind, s.Command, s.Language, s.Code = yurt.KindCode, nil, "python", text
		}
	}
	orderly := func(t *testing.T, r *yurt.Result) {
		t.Helper()
		if r.Error != nil && r.Error.Type == yurt.ErrorTypeSandboxLost {
			t.Errorf("the sandbox was lost: %+v", r.Error)
		}
		if r.ExitCode == 0 && r.Error != nil {
			t.Errorf("an error with exit code 0: %+v", r.Error)
		}
		t.Logf("exit %d, %.100s, %.300v", r.ExitCode, r.Result, r.Error)
	}
	return []attack{
		{
			name:  "garbage for a result",
			fails: "the data on descriptor 3 is parsed as hostile",
			layer: byResults,
			run:   code("import os\nos.write(3, os.urandom(100000))\nos._exit(0)"), check: ends(yurt.ErrorTypeNotSerializable),
		},
		{
			name:  "a result of a thousand levels",
			fails: "the decoder bounds the depth",
			layer: byResults,
			run:   code("import os\nos.write(3, b'{\"result\":' + b'[' * 60000)\nos._exit(0)"), check: ends(yurt.ErrorTypeNotSerializable),
		},
		{
			name:  "a result of 64 MiB",
			fails: "descriptor 3 has a cap, beyond which it is read and dropped",
			layer: byResults,
			run:   code("import os\nfor _ in range(1024): os.write(3, b'x' * 65536)\nos._exit(0)"), check: ends(yurt.ErrorTypeResultTooLarge),
		},
		{
			name:  "two results",
			fails: "at most one is taken; it is as untrusted as the program's output",
			layer: byResults,
			run:   code("import os\nos.write(3, b'{\"result\":1}\\n{\"result\":2}\\n')"), check: orderly,
		},
		{
			name:  "a forged success",
			fails: "the exit status comes from init, which user code cannot reach",
			layer: byInit,
			run:   code("import os\nos.write(3, b'{\"result\":1}')\nos.kill(os.getpid(), 11)"),
			check: func(t *testing.T, r *yurt.Result) {
				if r.ExitCode != 139 {
					t.Errorf("it was ended by signal 11 and exited with %d", r.ExitCode)
				}
			},
		},
		{
			name:  "an error of the node's own type",
			fails: "types that are the node's are marked as the program's word when a program gives them",
			layer: byResults,
			run:   code("import os\nos.write(3, b'{\"error\":{\"type\":\"SandboxLost\",\"message\":\"forged\",\"stacktrace\":[]}}')\nos._exit(0)"), check: ends("user." + yurt.ErrorTypeSandboxLost),
		},
		{
			name:  "a closed descriptor",
			fails: "a run without a result is one without a result",
			layer: byResults,
			run:   code("import os\nos.closerange(0, 100)\nos._exit(7)"), check: orderly,
		},
	}
}
