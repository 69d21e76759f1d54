package attack

import (
	"testing"

	"github.com/yurtrun/yurt"
)

// TestKernel tries calls that widen a program's access to the kernel.
func TestKernel(t *testing.T) {
	wage(t, kernelAttacks())
}

// kernelAttacks widen a program's access to the kernel.
func kernelAttacks() []attack {
	return []attack{
		{
			name:  "calls of other architectures",
			fails: "the list is for the native architecture, and whoever calls by another is killed",
			layer: byFilter,
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
			name:  "a filter or new privileges that undo this one",
			fails: "filters only ever add up, and no-new-privileges cannot be taken back",
			layer: byFilter,
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
			layer: byMounts,
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
			name:  "programs of the page that is not there, and locked memory",
			fails: "pages are mapped above mmap_min_addr only, and 64 KiB may be locked",
			layer: byRlimits,
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
			layer:   byRlimits,
			sandbox: func(s *yurt.SandboxSpec) { s.Resources.Memory = 64 << 20 },
			program: `
timer, made = ctypes.c_void_p(), 0
while made < 200000 and syscall(222 if X86 else 107, 1, 0, ctypes.byref(timer)) == 0: made += 1
if made == 200000: got('as many timers as it wanted')
`,
		},
	}
}
