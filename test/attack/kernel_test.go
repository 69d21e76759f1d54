package attack

import (
	"testing"

	"github.com/yurtrun/yurt"
)

// TestKernel tries calls that widen what can be reached of the kernel.
func TestKernel(t *testing.T) {
	wage(t, []attack{
		{
			name:  "bpf",
			fails: "the call is denied",
			program: `
for command in range(0, 40): refused('bpf', command, bytes(128), 128)
`,
		},
		{
			name:  "perf_event_open",
			fails: "the call is denied",
			program: `
refused('perf_event_open', struct.pack('IIQ', 1, 112, 0) + bytes(96), 0, -1, -1, 0)
`,
		},
		{
			name:  "io_uring",
			fails: "the calls are denied: what a ring does passes by the filter",
			program: `
refused('io_uring_setup', 8, bytes(120))
refused('io_uring_enter', 0, 1, 1, 0, 0, 0)
refused('io_uring_register', -1, 0, 0, 0)
`,
		},
		{
			name:  "userfaultfd",
			fails: "the call is denied: it makes races in the kernel easy to win",
			program: `
for flags in (0, 1, os.O_CLOEXEC | os.O_NONBLOCK): refused('userfaultfd', flags)
`,
		},
		{
			name:  "keyrings",
			fails: "the calls are denied: keyrings belong to no namespace",
			program: `
for command in range(0, 33): refused('keyctl', command, -3, 0, 0, 0)
refused('add_key', b'user', b'x', b'secret', 6, -3)
refused('request_key', b'user', b'x', 0, -3)
`,
		},
		{
			name:  "another kernel, or a part of one",
			fails: "the calls are denied, and would take capabilities on the host",
			program: `
for call in ('kexec_load', 'kexec_file_load', 'init_module', 'finit_module', 'delete_module', 'reboot', 'swapon', 'swapoff', 'acct', 'quotactl', 'quotactl_fd',
             'settimeofday', 'clock_settime', 'sethostname', 'setdomainname', 'lookup_dcookie', 'fanotify_init', 'vhangup', 'move_pages', 'migrate_pages'):
    refused(call, 1, 1, 1, 1, 1)          # and none of them would do anything if allowed
refused('syslog', 3, bytes(100), 100)
refused('clock_adjtime', 0, struct.pack('=I4x10q', 0x4000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10000) + bytes(200))      # may be read; a tick as it is
if X86:
    refused('iopl', 3)
    refused('ioperm', 0x70, 2, 1)
fails('host name', lambda: socket.sethostname('x'))
`,
		},
		{
			name:  "calls of other architectures",
			fails: "the list is for the native architecture, and whoever calls by another is killed",
			program: `
if X86:
    def x32(): syscall(0x40000000 | 39); got('an x32 call')
    def ia32():
        code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        code.write(b'\xb8\x14\x00\x00\x00\xcd\x80\xc3')       # mov eax, getpid; int 0x80; ret
        ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
        got('a 32-bit call')
    for attempt in (x32, ia32):
        status = in_child(attempt)
        # Without 32-bit calls in the kernel it is a segmentation fault.
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) not in (signal.SIGSYS, signal.SIGSEGV): got(attempt.__name__, status)
    if os.WTERMSIG(in_child(x32)) != signal.SIGSYS: got('x32 was not killed')
`,
		},
		{
			name:  "personality",
			fails: "the list lets the ordinary ones pass alone: others turn randomisation off or map page 0",
			program: `
for p in (0x0040000, 0x0100000, 0x0200000, 0x0400000, 0x0800000, 0x1000000, 0x2000000, 0x4000000, 0x8000000, 0x0200000 | 8): refused('personality', p)
if syscall('personality', 0xffffffff) & 0xffff0000: got('a personality')
`,
		},
		{
			name:  "a filter or new privileges that undo this one",
			fails: "filters only ever add up, and no-new-privileges cannot be taken back",
			program: `
for option, args in ((38, (0, 0, 0, 0)), (22, (0, 0)), (24, (21, 0)), (47, (2, 21, 0, 0))):      # no_new_privs off, seccomp off, bounding, ambient
    if libc.prctl(option, *args) == 0 and option != 24: got('prctl', option)
status = open('/proc/self/status').read()
if 'NoNewPrivs:\t1' not in status or 'Seccomp:\t2' not in status or status.count(':\t0000000000000000') < 5: got(status)
`,
		},
		{
			name:  "setuid programs",
			fails: "every file system is mounted nosuid, and no-new-privileges makes setuid bits of no effect",
			program: `
for line in open('/proc/self/mounts'):
    where = line.split()[1]
    if os.path.isdir(where) and not os.statvfs(where).f_flag & os.ST_NOSUID and not where.startswith('/proc/'): got(where, 'honours setuid')
for name in ('su', 'sudo', 'passwd', 'newgrp', 'chsh', 'mount', 'pkexec'):
    path = '/usr/bin/' + name
    if not os.path.exists(path): continue
    child = subprocess.Popen([path, '-h'], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        ids = [l for l in open(f'/proc/{child.pid}/status') if l.startswith(('Uid', 'Gid'))]
        if any('\t0\t' in l for l in ids): got(name, ids)
    except (FileNotFoundError, ProcessLookupError): pass
    child.communicate()
subprocess.run('cp /usr/bin/id /tmp/id && chmod 6755 /tmp/id', shell=True, check=True)
if subprocess.run('/tmp/id -u', shell=True, capture_output=True).stdout != b'1000\n': got('root')
for change in (os.setuid, os.setgid, os.seteuid, os.setegid): fails(change, lambda: change(0))
fails('groups', lambda: os.setgroups([0]))
`,
		},
		{
			name:  "characters typed into another's terminal (TIOCSTI)",
			fails: "no process has a terminal but one that it makes itself, in its own devpts",
			program: `
import fcntl
for fd in (0, 1, 2):
    for request in (0x5412, 0x541c):                        # TIOCSTI, TIOCLINUX
        fails(request, lambda: fcntl.ioctl(fd, request, b'x'))
fails('/dev/tty', lambda: os.open('/dev/tty', os.O_RDWR))
if set(os.listdir('/dev/pts')) != {'ptmx'}: got(os.listdir('/dev/pts'))
`,
		},
		{
			name:  "tracing and reading init",
			fails: "it is another user, holds capabilities that user code lacks, and is not dumpable",
			program: `
refused('ptrace', 16, 1, 0, 0)                              # attach
refused('ptrace', 0x4206, 1, 0, 0)                          # seize
word = ctypes.create_string_buffer(8)
iov = struct.pack('QQ', ctypes.addressof(word), 8)
refused('process_vm_readv', 1, iov, 1, struct.pack('QQ', 0x400000, 8), 1, 0)
refused('process_vm_writev', 1, iov, 1, struct.pack('QQ', 0x400000, 8), 1, 0)
init = syscall('pidfd_open', 1, 0)
if init >= 0:
    for fd in range(20): refused('pidfd_getfd', init, fd, 0)
    refused('process_madvise', init, iov, 1, 4, 0)
`,
		},
		{
			name:  "signalling, slowing and starving init",
			fails: "it is another user, and has memory and processes of its own",
			program: `
import resource
for number in range(1, 65): fails(number, lambda: os.kill(1, number))
init = syscall('pidfd_open', 1, 0)
if init >= 0: refused('pidfd_send_signal', init, 9, 0, 0)
fails('limits', lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (1, 1)))
fails('priority', lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
fails('affinity', lambda: os.sched_setaffinity(1, {0}))
fails('scheduler', lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)))
fails('own scheduler', lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99)))
fails('own priority', lambda: os.setpriority(os.PRIO_PROCESS, 0, -20))
signal.signal(signal.SIGTERM, signal.SIG_IGN)
fails('everybody', lambda: os.kill(-1, signal.SIGKILL))       # but this process
`,
		},
		{
			name:  "programs of the page that is not there, and locked memory",
			fails: "pages are mapped above mmap_min_addr only, and 64 KiB may be locked",
			program: `
libc.mmap.restype = ctypes.c_void_p
address = libc.mmap(ctypes.c_void_p(0), 4096, 7, 0x32, -1, 0)   # fixed, anonymous, private
if address == 0: got('page 0')
big = mmap.mmap(-1, 64 << 20)
if libc.mlock(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(big))), 64 << 20) == 0: got('locked 64 MiB')
if libc.mlockall(3) == 0: got('locked everything')
`,
		},
		{
			name:    "timers without end",
			fails:   "each counts against the signals that may be pending",
			sandbox: func(s *yurt.SandboxSpec) { s.Resources.Memory = 64 << 20 },
			program: `
timer, made = ctypes.c_void_p(), 0
while made < 200000 and syscall(222 if X86 else 107, 1, 0, ctypes.byref(timer)) == 0: made += 1
if made == 200000: got('as many timers as it wanted')
`,
		},
	})
}
