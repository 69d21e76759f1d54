package attack

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestKernel tries calls that widen a program's access to the kernel.
func TestKernel(t *testing.T) {
	testutil.NeedsSandboxes(t)
	putHugePagesAside(t)
	wage(t, kernelAttacks())
	hugePagesAreDenied(t)
}

// putHugePagesAside has the host put some huge pages aside until the test ends, and makes sure that a program outside of a sandbox gets one.
func putHugePagesAside(t *testing.T) {
	t.Helper()
	const setting, size = "/proc/sys/vm/nr_hugepages", 2 << 20
	before, err := os.ReadFile(setting)
	if err != nil {
		t.Fatal(err)
	}
	have, err := strconv.Atoi(strings.TrimSpace(string(before)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(setting, []byte(strconv.Itoa(have+4)), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.WriteFile(setting, before, 0); err != nil {
			t.Error(err)
		}
	})
	page, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_HUGETLB)
	if err != nil {
		t.Fatalf("the host has put huge pages aside and gives none: %v", err)
	}
	if err := unix.Munmap(page); err != nil {
		t.Error(err)
	}
}

// hugePagesAreDenied wants the limit of huge pages to be 0 for all sandboxes together, where the host has such a limit.
func hugePagesAreDenied(t *testing.T) {
	t.Helper()
	controllers, err := os.ReadFile("/sys/fs/cgroup/cgroup.controllers")
	if err != nil || !strings.Contains(string(controllers), "hugetlb") {
		return // cgroup v1, or a kernel without the controller: the list of system calls stands alone
	}
	limits, err := filepath.Glob("/sys/fs/cgroup/yurt-*/hugetlb.*MB.max")
	if err != nil || len(limits) == 0 {
		t.Fatalf("no group of sandboxes has a limit of huge pages: %v", err)
	}
	for _, limit := range limits {
		if value, err := os.ReadFile(limit); err != nil || string(value) != "0\n" {
			t.Errorf("%s is %q, %v; want 0", limit, value, err)
		}
	}
}

// kernelAttacks widen a program's access to the kernel.
func kernelAttacks() []attack {
	return []attack{
		{
			name:  "calls of other architectures",
			fails: "the list is for the native architecture, and a process that calls by another is killed",
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
			name:  "huge pages that the host has put aside",
			fails: "no cgroup of memory is charged for them, so the list reports that none exist",
			layer: byFilter,
			program: `
libc.mmap.restype = ctypes.c_void_p
for size in (0, 21 << 26, 30 << 26):                    # the default, 2 MiB, 1 GiB
    for kind in (0x01, 0x02):                           # shared, private
        p = libc.mmap(None, ctypes.c_ulong(2 << 20), 3, kind | 0x20 | 0x40000 | size, -1, 0)
        if p != ctypes.c_void_p(-1).value: got('huge pages by mmap', hex(size))
    refused(319 if X86 else 279, b'x', 4 | size, why=(errno.EINVAL,))
    refused(29 if X86 else 194, 0, 2 << 20, 0o5600 | size, why=(errno.ENOMEM,))
fd = syscall(319 if X86 else 279, b'x', 0)
if fd < 0: got('memory by a file is refused too')
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
