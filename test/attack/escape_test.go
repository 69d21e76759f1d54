package attack

import "testing"

// TestEscapes try to leave the sandbox's namespaces and root, or to see beyond them.
func TestEscapes(t *testing.T) {
	wage(t, []attack{
		{
			name:  "new namespaces by unshare",
			fails: "the system call list denies unshare with CAP_SYS_ADMIN absent, and no capability can be had",
			program: `
NEW = {'time': 0x80, 'mount': 0x20000, 'cgroup': 0x2000000, 'uts': 0x4000000, 'ipc': 0x8000000, 'user': 0x10000000, 'pid': 0x20000000, 'net': 0x40000000}
for name, flag in NEW.items():
    for more in (0, NEW['user']):
        if syscall('unshare', flag | more) >= 0: got(name)
`,
		},
		{
			name:  "new namespaces by clone",
			fails: "the list lets clone pass only without the flags of namespaces",
			program: `
for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x10020000, 0x7e020000):
    pid = syscall('clone', flag | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0: os._exit(0)
    if pid > 0: got(hex(flag))
    elif -pid not in REFUSED: got(hex(flag), errno.errorcode[-pid])
`,
		},
		{
			name:  "new namespaces by clone3",
			fails: "a filter cannot look at clone3's arguments, so the call does not exist; C libraries fall back to clone",
			program: `
# Those of namespaces, one into another cgroup, one with signals at their defaults, and none.
for flag in (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x7e020080, 0x200000000, 0x100000000, 0):
    args = struct.pack('11Q', flag, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
    pid = syscall('clone3', args, len(args))
    if pid == 0: os._exit(0)
    if pid != -errno.ENOSYS: got(hex(flag), pid)
`,
		},
		{
			name:  "joining other namespaces",
			fails: "setns is denied, and the files of init's namespaces are not to be seen",
			program: `
for name in os.listdir('/proc/self/ns'):
    fd = os.open('/proc/self/ns/' + name, os.O_RDONLY)
    refused('setns', fd, 0)
    fails(name, lambda: os.open('/proc/1/ns/' + name, os.O_RDONLY))
for flag in (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x7e020080):
    refused('setns', os.pidfd_open(os.getpid()), flag)
`,
		},
		{
			name:  "mounts, old calls and new",
			fails: "all of them are denied, and would take CAP_SYS_ADMIN",
			program: `
refused('mount', b'x', b'/tmp', b'tmpfs', 0, 0)
refused('mount', b'proc', b'/proc', b'proc', 0, 0)
refused('mount', b'/', b'/tmp', 0, 4096, 0)             # bind
refused('mount', 0, b'/usr', 0, 4096 | 32, 0)           # remount, without ro
refused('mount', b'cgroup', b'/tmp', b'cgroup', 0, b'memory')
refused('mount', b'overlay', b'/tmp', b'overlay', 0, b'lowerdir=/,upperdir=/tmp,workdir=/tmp')
refused('umount2', b'/proc/sys', 2)
refused('umount2', b'/proc/kcore', 2)
refused('pivot_root', b'/tmp', b'/tmp')
refused('chroot', b'/tmp')
refused('fsopen', b'proc', 0)
refused('open_tree', -100, b'/', 1)
refused('move_mount', -100, b'/proc', -100, b'/tmp', 0)
refused('fspick', -100, b'/', 0)
refused('fsmount', 0, 0, 0)
refused('mount_setattr', -100, b'/usr', 0, struct.pack('4Q', 0, 1, 0, 0), 32)
`,
		},
		{
			name:  "files of init in /proc",
			fails: "/proc hides processes of other users, and init is not dumpable",
			program: `
for name in ('mem', 'maps', 'environ', 'cmdline', 'exe', 'root', 'cwd', 'fd', 'ns', 'task', 'cgroup', 'mountinfo', 'status', 'stat', 'io', 'attr/current', 'oom_score_adj', 'fdinfo', 'map_files'):
    path = '/proc/1/' + name
    fails(path, lambda: os.stat(path))
    fails(path, lambda: os.open(path, os.O_RDONLY))
    fails(path, lambda: os.readlink(path))
fails('root', lambda: os.listdir('/proc/1/root/'))
fails('oom', lambda: write('/proc/1/oom_score_adj', '1000'))
if '1' in os.listdir('/proc'): got('the number of init')
`,
		},
		{
			name:  "writing to the binary of init and of the runtime (CVE-2019-5736)",
			fails: "the binary that makes sandboxes is a sealed copy in memory and is gone when user code begins; that of init is on a read-only file system, and cannot be read",
			program: `
for path in ('/proc/self/exe', '/proc/1/exe', '/.yurt-init', '/usr/bin/python3', '/proc/self/root/.yurt-init'):
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND):
        fails(path, lambda: os.open(path, flags))
fails('reading init', lambda: os.open('/.yurt-init', os.O_RDONLY))
for path in ('/.yurt-init', '/bin', '/usr/bin/python3'):
    fails('removing', lambda: os.unlink(path))
    fails('renaming', lambda: os.rename(path, '/tmp/x'))
`,
		},
		{
			name:  "descriptors that were left open (CVE-2024-21626)",
			fails: "a process begins with its own stdin, stdout and stderr and nothing else",
			program: `
for fd in os.listdir('/proc/self/fd'):
    try: target = os.readlink('/proc/self/fd/' + fd)
    except OSError: continue              # the one that lists
    if not (fd == '0' and target == '/dev/null' or fd in '12' and target.startswith('pipe:')): got(fd, target)
if os.getcwd() != '/workspace': got(os.getcwd())
`,
		},
		{
			name:  "control files of the kernel",
			fails: "/proc/sys is mounted read-only, what acts on the host is masked, /sys is not there, and all belongs to a user who is nobody here",
			program: `
for path in ('/proc/sys/kernel/core_pattern', '/proc/sys/kernel/modprobe', '/proc/sys/kernel/hostname', '/proc/sys/kernel/hotplug', '/proc/sys/vm/overcommit_memory',
             '/proc/sys/fs/binfmt_misc/register', '/proc/sys/net/ipv4/ip_forward', '/proc/sys/kernel/ns_last_pid', '/proc/sysrq-trigger', '/proc/irq/default_smp_affinity',
             '/proc/mtrr', '/proc/bus/pci/00/00.0', '/proc/pressure/memory', '/proc/self/uid_map', '/proc/self/gid_map', '/proc/self/setgroups', '/proc/self/attr/exec',
             '/sys/fs/cgroup/release_agent', '/sys/fs/cgroup/memory/release_agent', '/sys/kernel/uevent_helper', '/sys/power/state'):
    if os.path.exists(path) and os.stat(path).st_rdev == os.makedev(1, 3): continue      # masked, by /dev/null
    fails(path, lambda: write(path, '|/tmp/x'))
for path in ('/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/pressure'):
    if os.path.exists(path) and not os.statvfs(path).f_flag & os.ST_RDONLY: got(path, 'is not read-only')
if 'sbx' in open('/proc/self/cgroup').read() or os.path.exists('/sys'): got('cgroups of the host')
# Masked files are empty, whether they can be opened or not.
for path in ('/proc/kcore', '/proc/kallsyms', '/proc/kmsg', '/proc/keys', '/proc/key-users', '/proc/timer_list', '/proc/modules', '/proc/cmdline', '/proc/interrupts', '/proc/slabinfo', '/proc/vmallocinfo', '/proc/iomem', '/proc/config.gz', '/proc/sched_debug', '/proc/kpagecount'):
    try: text = open(path, 'rb').read(100)
    except OSError: continue
    if text: got(path, text)
`,
		},
		{
			name:  "device nodes",
			fails: "making one takes CAP_MKNOD on the host, no file system here honours one, and the cgroup allows eight harmless ones",
			program: `
for kind, number in ((stat.S_IFBLK, os.makedev(8, 0)), (stat.S_IFBLK, os.makedev(254, 0)), (stat.S_IFCHR, os.makedev(1, 1)), (stat.S_IFCHR, os.makedev(1, 3)), (stat.S_IFCHR, os.makedev(10, 200))):
    for where in ('/tmp', '/workspace', '/dev/shm', '/dev', '/run/yurt'):
        fails(where, lambda: os.mknod(where + '/node', 0o666 | kind, number))
have = {n for n in os.listdir('/dev') if stat.S_ISCHR(os.lstat('/dev/' + n).st_mode) or stat.S_ISBLK(os.lstat('/dev/' + n).st_mode)}
if have - {'null', 'zero', 'full', 'random', 'urandom', 'tty', 'ptmx'}: got(have)
for name in ('console', 'kmsg', 'mem', 'fuse', 'kvm', 'net/tun', 'loop-control', 'userfaultfd', 'vsock'): fails(name, lambda: os.open('/dev/' + name, os.O_RDWR))
`,
		},
		{
			name:  "files that only root may read, by a link",
			fails: "a link to another file system is impossible, and what is of the host is another user's",
			program: `
for path in ('/etc/passwd', '/usr/bin/su', '/.yurt-init', '/proc/self/mem'):
    for where in ('/tmp/link', '/workspace/link', os.path.dirname(path) + '/link'):
        fails(path, lambda: os.link(path, where))
for path in ('/etc/shadow', '/root', '/home', '/var', '/mnt', '/boot', '/opt', '/srv', '/lost+found', '/run/docker.sock', '/run/systemd'):
    fails(path, lambda: os.stat(path))
`,
		},
		{
			name:  "open by handle (shocker)",
			fails: "open_by_handle_at is denied",
			program: `
handle = struct.pack('IiQ', 8, 1, 2)      # inode 2 is the root of the host's file system
refused('open_by_handle_at', os.open('/usr', os.O_RDONLY), handle, 0)
`,
		},
	})
}
