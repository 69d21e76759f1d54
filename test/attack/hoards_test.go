package attack

// hoard is a kind of thing that the kernel holds for a process, and the Python function that takes as much of
// it as it can. It is derived from the calls in its name alone: see TestEveryKindIsFilled.
type hoard struct {
	// kinds are the system calls that make it; of sockets, the domain, type and protocol too.
	kinds []string
	fill  string
	smoke bool // `make test` fills it too, not `make test-long` alone
}

// hoards fill every kind of object that the list of system calls lets code make.
func hoards() map[string]hoard {
	return map[string]hoard{
		"netlink sockets": {
			kinds: []string{"socket 16 2 0", "socket 16 3 0"}, smoke: true,
			fill: `
def make():
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); s.setblocking(False)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 30)
    s.bind((0, 0))
    stuff(lambda _: s.send(st.pack('=IHHIIB3x', 20, 18, 0x301, 1, 0, 0)), b'x')
    stuff(lambda _: s.send(st.pack('=IHHIIB3x', 20, 0x3f0, 5, 1, 0, 0) * 1000), b'x')
    return s
keep(make)
`,
		},
		"connections that are not accepted": {
			kinds: []string{"socket 2 1 0", "socket 2 1 6", "listen", "connect"}, smoke: true,
			fill: `
def make():
    s, address = connected(socket.SOCK_STREAM); s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 30); s.listen(4096)
    made = []
    try:
        while len(made) < 500:
            c = socket.socket(); c.settimeout(0.05); c.connect(address); made.append(c); c.setblocking(False)
            stuff(c.send, b'x' * 65536)
            stuff(c.send, b'x')
    except OSError: pass
    return s, made
keep(make)
`,
		},
		"connections that are accepted": {
			kinds: []string{"socket 10 1 0", "socket 10 1 6", "accept", "accept4"},
			fill: `
s, address = connected(socket.SOCK_STREAM, socket.AF_INET6); s.listen(1)
def make():
    c = socket.socket(socket.AF_INET6); c.settimeout(1); c.connect(address[:2]); d, _ = s.accept(); c.setblocking(False); d.setblocking(False)
    stuff(c.send, b'x' * 65536); stuff(d.send, b'x' * 65536); stuff(c.send, b'x')
    return c, d
keep(make)
`,
		},
		"connections whose own end is closed": {
			kinds: []string{"accept", "accept4"},
			fill: `
s, address = connected(socket.SOCK_STREAM); s.listen(64)
def make():
    c = socket.socket(); c.settimeout(1); c.connect(address); d, _ = s.accept(); c.setblocking(False)
    stuff(c.send, b'x' * 65536); stuff(c.send, b'x'); c.close()
    return d
keep(make, 80)
`,
		},
		"connections whose own end is reset": {
			kinds: []string{"accept", "accept4"},
			fill: `
s, address = connected(socket.SOCK_STREAM); s.listen(64)
def make():
    c = socket.socket(); c.settimeout(1); c.connect(address); d, _ = s.accept(); c.setblocking(False)
    stuff(c.send, b'x' * 65536); c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, st.pack('ii', 1, 0)); c.close()
    return d
keep(make, 80)
`,
		},
		"connections whose own end is used again": {
			kinds: []string{"connect"},
			fill: `
s, address = connected(socket.SOCK_STREAM); s.listen(64); c = socket.socket()
def make():
    c.settimeout(1); c.connect(address); d, _ = s.accept(); c.setblocking(False)
    stuff(c.send, b'x' * 65536); libc.connect(c.fileno(), bytes(16), 16)  # to AF_UNSPEC
    return d
keep(make, 80)
`,
		},
		"connections that were closed": {
			kinds: []string{"shutdown"}, smoke: true,
			fill: `
s, address = connected(socket.SOCK_STREAM); s.listen(64)
while True:
    c = socket.socket(); c.settimeout(1)
    try: c.connect(address); d, _ = s.accept()
    except OSError: continue
    c.close(); d.close()
`,
		},
		"datagrams that are not read": {
			kinds: []string{"socket 2 2 0", "socket 2 2 17", "socket 10 2 0", "socket 10 2 17", "bind", "sendto"}, smoke: true,
			fill: `
c = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def make():
    s, address = connected(socket.SOCK_DGRAM); s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 30)
    for size in (60000, 1000, 1):
        for _ in range(300000 // (size + 500)): c.sendto(b'x' * size, address)
    return s
keep(make)
`,
		},
		"datagrams that are corked": {
			kinds: []string{"sendmsg", "sendmmsg", "setsockopt"}, smoke: true,
			fill: `
s, address = connected(socket.SOCK_DGRAM)
def make():
    c = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try: c.setsockopt(socket.IPPROTO_UDP, 1, 1)
    except OSError: pass
    c.connect(address)
    try: c.send(b'x' * 60000, 0x8000)
    except OSError: pass
    return c
keep(make)
`,
		},
		"streams of Unix sockets": {
			kinds: []string{"socket 1 1 0", "socket 1 1 1", "socketpair 1 1 0", "socketpair 1 1 1"},
			fill: `
def make():
    a, b = socket.socketpair(); a.setblocking(False); a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30); stuff(a.send); return a, b
keep(make)
`,
		},
		"datagrams of Unix sockets": {
			kinds: []string{"socket 1 2 0", "socket 1 2 1", "socketpair 1 2 0", "socketpair 1 2 1", "socket 1 5 0", "socket 1 5 1", "socketpair 1 5 0", "socketpair 1 5 1"},
			fill: `
def make():
    made = []
    for kind in (socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        a, b = socket.socketpair(socket.AF_UNIX, kind); a.setblocking(False); stuff(a.send); stuff(a.send, b'x'); made += [a, b]
    return made
keep(make)
`,
		},
		"descriptors in messages": {
			kinds: []string{"recvmsg", "recvmmsg"},
			fill: `
r, _ = os.pipe()
def make():
    a, b = socket.socketpair(); a.setblocking(False)
    try:
        while True: socket.send_fds(a, [b'x'], [os.open('/dev/null', 0)] + [r] * 250)
    except OSError: return a, b
keep(make)
`,
		},
		"pipes": {
			kinds: []string{"pipe", "pipe2", "splice", "tee", "vmsplice"},
			fill: `
def make():
    r, w = os.pipe(); os.set_blocking(w, False)
    try: fcntl.fcntl(w, 1031, 1 << 20)
    except OSError: pass
    stuff(lambda d: os.write(w, d)); return r, w
keep(make)
`,
		},
		"event counters": {
			kinds: []string{"eventfd", "eventfd2"},
			fill:  "keep(lambda: os.eventfd(0))\n",
		},
		"timers of files": {
			kinds: []string{"timerfd_create"}, smoke: true,
			fill: `
def make():
    fd = libc.timerfd_create(1, 0)
    if fd < 0: raise OSError(ctypes.get_errno(), '')
    libc.timerfd_settime(fd, 0, st.pack('4q', 1000, 0, 1000, 0), None)
    return fd
keep(make)
`,
		},
		"files of signals": {
			kinds: []string{"signalfd", "signalfd4"},
			fill: `
def make():
    fd = libc.signalfd(-1, ctypes.create_string_buffer(8), 0)
    if fd < 0: raise OSError(ctypes.get_errno(), '')
    return fd
keep(make)
`,
		},
		"epoll instances": {
			kinds: []string{"epoll_create", "epoll_create1", "epoll_ctl"},
			fill: `
p, _ = os.pipe()
fds = []
keep(lambda: fds.append(os.dup(p)), 2000)
def make():
    e = select.epoll()
    for fd in fds: e.register(fd)
    return e
keep(make)
`,
		},
		"watches of inotify": {
			kinds: []string{"inotify_init", "inotify_init1", "inotify_add_watch"},
			fill: `
for n in range(3000): os.makedirs(f'/tmp/watched/{n}', exist_ok=True)
def make():
    fd = libc.inotify_init1(0)
    if fd < 0: raise OSError(ctypes.get_errno(), '')
    for n in range(3000): libc.inotify_add_watch(fd, f'/tmp/watched/{n}'.encode(), 0xfff)
    return fd
keep(make)
for n in range(100000): open(f'/tmp/watched/{n % 3000}/' + 'x' * 200, 'w').close()
`,
		},
		"locks of ranges": {
			kinds: []string{"fcntl"}, smoke: true,
			fill: `
f = open(f'/tmp/locks{at}', 'w')
for n in range(1 << 30): fcntl.fcntl(f, 6, st.pack('hhqqi4x', 1, 0, (1 << 40) - 2 * n, 1, 0))
`,
		},
		"locks of files": {
			kinds: []string{"flock"}, smoke: true,
			fill: `
path = f'/tmp/locked{at}'; open(path, 'w').write('x')
def make():
    fd = os.open(path, 0); fcntl.flock(fd, fcntl.LOCK_SH); return fd
keep(make)
`,
		},
		"locks of files that are mapped": {
			kinds: []string{"flock"}, smoke: true,
			fill: `
path = f'/tmp/locked{at}'; open(path, 'w').write('x')
libc.mmap.restype = ctypes.c_void_p
while True:
    fd = os.open(path, 0); fcntl.flock(fd, fcntl.LOCK_SH)
    if libc.mmap(None, 4096, 1, 1, fd, 0) == ctypes.c_void_p(-1).value: break
    os.close(fd)
`,
		},
		"owners of files": {
			kinds: []string{"fcntl"}, smoke: true,
			fill: `
def make():
    fd = os.open('/dev/null', 0)
    try: fcntl.fcntl(fd, 8, os.getpid()); fcntl.fcntl(fd, 10, 10)
    except OSError: pass
    return fd
keep(make)
`,
		},
		"files and their attributes": {
			kinds: []string{"open", "openat", "openat2", "creat", "mkdir", "mkdirat", "mknod", "mknodat", "symlink", "symlinkat", "link", "linkat", "setxattr", "lsetxattr", "fsetxattr"},
			fill: `
os.makedirs(f'/tmp/files{at}', exist_ok=True)
def make():
    n = len(kept); path = f'/tmp/files{at}/{n}'
    fd = os.open(path, os.O_CREAT | os.O_RDWR); os.symlink('x' * 4000, path + 's'); os.mkdir(path + 'd')
    for m in range(30): os.setxattr(path, f'user.{m}', b'x' * 2000)
    return fd
keep(make)
`,
		},
		"names that are not there": {
			kinds: []string{"stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2"},
			fill: `
n = 0
while True: os.path.lexists(f'/tmp/{at}-{n}-' + 'x' * 200); n += 1
`,
		},
		"mappings": {
			kinds: []string{"mmap", "mprotect", "mremap", "munmap", "brk", "madvise", "mlock", "mlock2", "mlockall", "remap_file_pages", "pkey_alloc", "pkey_mprotect"},
			fill: `
for n in range(60000): kept.append(mmap.mmap(-1, 4096, prot=1 + n % 2))
`,
		},
		"tables of pages": {
			kinds: []string{"execve", "execveat"},
			fill: `
m = mmap.mmap(-1, 1 << 40, flags=0x4022)
for n in range(1 << 19): m[n << 21] = 0
`,
		},
		"files in memory": {
			kinds: []string{"memfd_create"},
			fill: `
def make():
    fd = os.memfd_create('x' * 200); os.write(fd, b'x' * 4096); return fd
keep(make)
`,
		},
		"processes and threads": {
			kinds: []string{"clone", "fork", "vfork", "set_robust_list", "rseq"},
			fill: `
threading.stack_size(32768)
while True:
    try: threading.Thread(target=signal.pause, daemon=True).start()
    except RuntimeError: break
`,
		},
		"handles of processes": {
			kinds: []string{"pidfd_open"},
			fill:  "keep(lambda: os.pidfd_open(os.getpid()))\n",
		},
		"rules of landlock": {
			kinds: []string{"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"},
			fill: `
def make():
    fd = libc.syscall(444, ctypes.byref(ctypes.c_uint64(1)), ctypes.c_size_t(8), 0)
    if fd < 0: raise OSError(ctypes.get_errno(), '')
    for path in ('/', '/tmp', '/usr', '/usr/bin', '/usr/lib', '/proc', '/dev'):
        parent = os.open(path, os.O_PATH); libc.syscall(445, fd, 1, st.pack('=Qi', 1, parent), 0); os.close(parent)
    return fd
keep(make)
`,
		},
		"timers": {
			kinds: []string{"timer_create", "timer_settime", "setitimer", "alarm"},
			fill: `
def make():
    t = ctypes.c_void_p()
    if libc.timer_create(1, None, ctypes.byref(t)): raise OSError(ctypes.get_errno(), '')
    return t
keep(make)
`,
		},
		"signals that wait": {
			kinds: []string{"rt_sigqueueinfo", "rt_tgsigqueueinfo", "kill", "tgkill", "tkill", "pidfd_send_signal"},
			fill: `
signal.pthread_sigmask(signal.SIG_BLOCK, range(34, 65))
while libc.sigqueue(os.getpid(), 34 + len(kept) % 30, ctypes.c_void_p(0)) == 0: kept.append(1)
`,
		},
		"messages of System V": {
			kinds: []string{"msgget", "msgsnd"},
			fill: `
def make():
    q = libc.msgget(0, 0o1600)
    if q < 0: raise OSError(ctypes.get_errno(), '')
    while libc.msgsnd(q, st.pack('l', 1) + b'x' * 8000, 8000, 0o4000) == 0: pass
    while libc.msgsnd(q, st.pack('l', 1), 0, 0o4000) == 0: pass
    return q
keep(make)
`,
		},
		"semaphores": {
			kinds: []string{"semget", "semop", "semtimedop"},
			fill: `
def make():
    s = libc.semget(0, 250, 0o1600)
    if s < 0: raise OSError(ctypes.get_errno(), '')
    for n in range(250): libc.semop(s, st.pack('HhH', n, 1, 0x1000), 1)
    return s
keep(make)
`,
		},
		"shared memory": {
			kinds: []string{"shmget", "shmat"},
			fill: `
def make():
    s = libc.shmget(0, 4096, 0o1600)
    if s < 0: raise OSError(ctypes.get_errno(), '')
    return s
keep(make)
`,
		},
		"queues of POSIX": {
			kinds: []string{"mq_open", "mq_timedsend", "mq_notify"},
			fill: `
def make():
    q = libc.syscall(240 if X86 else 180, b'q%d-%d' % (at, len(kept)), 0o102, 0o600, None)
    if q < 0: raise OSError(ctypes.get_errno(), '')
    return q
keep(make)
`,
		},
		"terminals": {
			kinds: []string{"ioctl"}, smoke: true,
			fill: `
def make():
    a, b = os.openpty(); os.set_blocking(a, False); os.set_blocking(b, False)
    stuff(lambda d: os.write(b, d)); stuff(lambda d: os.write(a, d)); return a, b
keep(make)
`,
		},
		"filters": {
			kinds: []string{"seccomp", "prctl"},
			fill: `
class Program(ctypes.Structure): _fields_ = [('len', ctypes.c_ushort), ('filter', ctypes.c_char_p)]
code = b''.join(st.pack('HBBI', 0, 0, 0, n) for n in range(4000)) + st.pack('HBBI', 6, 0, 0, 0x7fff0000)
while True:
    if libc.prctl(22, 2, ctypes.byref(Program(len(code) // 8, code))): break
for _ in range(1000):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); kept.append(s)
    try: s.setsockopt(socket.SOL_SOCKET, 26, bytes(Program(4001, code)))
    except OSError: break
`,
		},
		"names of mappings": {
			kinds: []string{"prctl"},
			fill: `
libc.mmap.restype = ctypes.c_void_p
for n in range(30000):
    p = libc.mmap(None, 8192, 1 + n % 2, 0x22, -1, 0)
    if libc.prctl(0x53564d41, 0, ctypes.c_ulong(p), ctypes.c_ulong(4096), b'%070d' % (at * 100000 + n)): break
`,
		},
		"memberships of groups": {
			kinds: []string{"setsockopt"}, smoke: true,
			fill: `
def make():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for n in range(20): s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, st.pack('4B4B', 224, at, len(kept) % 256, n, 127, 0, 0, 1))
    return s
keep(make)
`,
		},
	}
}
