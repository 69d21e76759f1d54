package attack

import "testing"

// TestKnownEscapes tries published escapes from other sandboxes. CVE-2019-5736 is in TestEscapes
// too, CVE-2024-21626 there and in TestWorkingDirectories.
func TestKnownEscapes(t *testing.T) {
	wage(t, knownEscapes())
}

// knownEscapes are published escapes from other sandboxes.
func knownEscapes() []attack {
	return []attack{
		{
			name:  "another file in the place of /dev/null, which masks others (CVE-2025-31133)",
			fails: "/dev is init's, on a file system that no other sandbox sees, and masks are mounted before user code exists",
			layer: byMounts,
			program: `
for path in ('/dev/null', '/dev/zero', '/dev/full', '/dev/ptmx', '/dev/pts', '/dev/shm', '/dev'):
    fails(path, lambda: os.unlink(path))
    fails(path, lambda: os.rmdir(path))
    fails(path, lambda: os.rename(path, '/tmp/x'))
    fails(path, lambda: os.rename('/tmp', path))
    fails(path, lambda: os.chmod(path, 0o777))
    fails(path, lambda: os.chown(path, 1000, 1000))
if os.lstat('/dev/null').st_rdev != os.makedev(1, 3): got('another /dev/null')
for line in open('/proc/self/mounts'):
    source, where, kind, options = line.split()[:4]
    if where.startswith('/proc/') and kind not in ('proc', 'tmpfs', 'devtmpfs', 'devpts', 'ext4', 'overlay', 'sysfs'): got(line)
for path in ('/proc/kcore', '/proc/sysrq-trigger', '/proc/keys'):
    fails(path, lambda: os.unlink(path))
    fails(path, lambda: os.rename('/dev/null', path))
`,
		},
		{
			name:  "a console that is something else (CVE-2025-52565)",
			fails: "no sandbox has a /dev/console, nor a terminal that the host bound to one, and its /dev/pts is its own",
			layer: byNamespaces,
			program: `
if os.path.lexists('/dev/console'): got('a console')
for target in ('/proc/sysrq-trigger', '/proc/sys/kernel/core_pattern', '/etc/passwd'):
    for path in ('/dev/console', '/dev/tty0', '/dev/pts/0', '/dev/pts/1'): fails(path, lambda: os.symlink(target, path))
master, slave = os.openpty()
if os.ttyname(slave) != '/dev/pts/0': got(os.ttyname(slave))
fails('removing a terminal', lambda: os.unlink('/dev/pts/0'))
fails('giving it another name', lambda: os.rename('/dev/pts/0', '/dev/pts/9'))
`,
		},
		{
			name:  "labels and settings that go elsewhere (CVE-2025-52881)",
			fails: "/proc is the real one, of this pid namespace, no mount can cover it, and the host writes to it before user code exists",
			layer: byMounts,
			program: `
if os.statvfs('/proc').f_bsize and open('/proc/self/stat').read().split()[0] != str(os.getpid()): got('another /proc')
kinds = [l.split()[2] for l in open('/proc/self/mounts') if l.split()[1] == '/proc']
if kinds != ['proc']: got(kinds)
for name in ('current', 'exec', 'fscreate', 'keycreate', 'sockcreate', 'apparmor/exec', 'apparmor/current', 'smack/current'):
    for who in ('self', 'thread-self', '1'):
        path = f'/proc/{who}/attr/{name}'
        if os.path.exists(path): fails(path, lambda: write(path, 'exec unconfined'))
for path in ('/proc/self/attr', '/proc/thread-self/attr', '/proc/sys/kernel', '/proc/self'):
    fails(path, lambda: os.rename('/tmp', path))
    refused('mount', b'/tmp', path.encode(), 0, 4096, 0)
    refused('mount', b'none', path.encode(), b'tmpfs', 0, 0)
`,
		},
		{
			name:  "the workspace itself moved away, or made a link",
			fails: "it is a mount point in a directory that is read-only",
			layer: byMounts,
			program: `
for path in ('/workspace', '/tmp', '/run/yurt', '/run', '/etc', '/usr'):
    fails(path, lambda: os.rename(path, path + '-x'))
    fails(path, lambda: os.rmdir(path))
    fails(path, lambda: os.symlink('/', path + '-x'))
    fails(path, lambda: os.link(path, '/tmp/x'))
    libc.renameat2.restype = ctypes.c_int
    if libc.renameat2(-100, path.encode(), -100, b'/workspace', 2) == 0: got(path)
`,
		},
		{
			name:  "children that are given to init",
			fails: "init reaps whatever child it is given, as it does orphans, and a child's limits are its cgroup's",
			layer: byInit,
			program: `
CLONE_PARENT = 0x8000
for n in range(200):
    pid = syscall('clone', CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0: os._exit(n % 256)
    if pid < 0: time.sleep(0.01)
pid = syscall('clone', CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
if pid == 0:
    os.setsid(); time.sleep(0.1); os._exit(0)
# No signal but that of a child: init is not to be told anything else.
for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP):
    pid = syscall('clone', CLONE_PARENT | number, 0, 0, 0, 0)
    if pid == 0: os._exit(0)
`,
		},
		{
			name:  "being spared when memory is short, and heard first when the disk is slow",
			fails: "both take capabilities on the host",
			layer: byCapabilities,
			program: `
if int(open('/proc/self/oom_score_adj').read()) < 0: got('a low score')
for score in ('-1000', '-1'): fails(score, lambda: write('/proc/self/oom_score_adj', score))
refused(251 if X86 else 30, 1, 0, (1 << 13) | 0)           # ioprio_set, real time
fails('deadline', lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1)))
`,
		},
		{
			name:  "a core dump, and the program that would get it",
			fails: "the limit is 1 byte, with which the kernel writes no dump and starts no program, and it stays so even if a program believes that it has changed it",
			layer: byRlimits,
			program: `
import resource
for limit in ((1 << 30, 1 << 30), (0, 1), (0, 0)):
    libc.setrlimit(4, struct.pack('QQ', *limit))
    libc.prlimit(0, 4, struct.pack('QQ', *limit), None)
    if resource.getrlimit(resource.RLIMIT_CORE) != (1, 1): got(limit, resource.getrlimit(resource.RLIMIT_CORE))
os.chdir('/workspace')
if os.WCOREDUMP(in_child(os.abort)): got('a core dump')
if os.listdir('/workspace'): got(os.listdir('/workspace'))
`,
		},
		{
			name:  "message queues",
			fails: "those of POSIX count against a limit of 0 bytes",
			layer: byRlimits,
			program: `
for n in range(5):
    if libc.mq_open(b'/queue%d' % n, os.O_CREAT | os.O_RDWR, 0o666, None) >= 0: got('a queue')
`,
		},
		{
			name:  "calls that are newer than the list",
			fails: "they answer that they do not exist, whatever this kernel has",
			layer: byFilter,
			program: `
for number in (457, 458, 467, 468, 469, 470, 500, 600, 100000): refused(number, 0, 0, 0, 0, 0, 0)
`,
		},
	}
}
