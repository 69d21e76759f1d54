package attack

import (
	"fmt"
	"strings"
)

// batteries are all of them.
func batteries() []battery {
	return []battery{
		namespaceBattery(), mountBattery(), callBattery(), socketBattery(), capabilityBattery(),
		controlBattery(), tellingBattery(), sysBattery(), deviceBattery(), nodeBattery(),
		aliasBattery(), loaderBattery(), cacheBattery(), knownBattery(), benchBattery(), sandboxbenchBattery(), placesBattery(),
		targetBattery(), initBattery(),
	}
}

// namespaceFlags are the kinds of namespaces, by the kernel's names.
func namespaceFlags() map[string]uint64 {
	return map[string]uint64{
		"time": 0x80, "mnt": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000,
		"ipc": 0x8000000, "user": 0x10000000, "pid": 0x20000000, "net": 0x40000000,
	}
}

func namespaceBattery() battery {
	b := battery{
		name: "namespaces", about: "Code makes or joins namespaces, in which it would be root.",
		layer: byFilter, stopped: refusals(),
		fails: "the list has neither unshare nor setns, clone passes without the flags of namespaces alone, and clone3, whose arguments a filter cannot see, does not exist",
	}
	kinds := []string{"time", "mnt", "cgroup", "uts", "ipc", "user", "pid", "net"}
	for _, kind := range kinds {
		flag := namespaceFlags()[kind]
		b.trials = append(b.trials,
			trial{name: "unshare-" + kind, tries: "unshare with a new namespace: " + kind, code: fmt.Sprintf("return call('unshare', %#x)", flag), without: inNamespaces},
			trial{name: "clone3-" + kind, tries: "clone3 with a new namespace: " + kind, code: fmt.Sprintf(`
args = struct.pack('11Q', %#x, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, 0)
pid = call('clone3', args, len(args))
if pid == 0: os._exit(0)
return os.waitpid(pid, 0)`, flag), without: inNamespaces},
			trial{name: "setns-" + kind, tries: "setns with a file of a namespace: " + kind, code: fmt.Sprintf("return call('setns', os.open('/proc/self/ns/%s', os.O_RDONLY), 0)", kind)},
			trial{name: "setns-of-init-" + kind, tries: "opening the namespace file of yurt-init: " + kind, code: fmt.Sprintf("return os.open('/proc/%%d/ns/%s' %% FIRST, os.O_RDONLY)", kind), layer: byNamespaces, stopped: []string{"ENOENT", "EACCES"}, without: onHost},
		)
		if kind != "time" { // clone has no flag for it
			b.trials = append(b.trials,
				trial{name: "clone-" + kind, tries: "clone with a new namespace: " + kind, code: fmt.Sprintf(`
pid = call('clone', %#x | signal.SIGCHLD, 0, 0, 0, 0)
if pid == 0: os._exit(0)
return os.waitpid(pid, 0)`, flag), without: inNamespaces},
				trial{name: "unshare-user-and-" + kind, tries: "unshare with a user namespace and, with its capabilities, another: " + kind, code: fmt.Sprintf("return call('unshare', 0x10000000 | %#x)", flag), without: inNamespaces})
		}
	}
	b.trials = append(b.trials,
		trial{name: "setns-pidfd", tries: "setns with a process descriptor and every kind of namespace", code: "return call('setns', os.pidfd_open(os.getpid()), 0x7e020080)"},
		trial{name: "clone3-into-cgroup", tries: "clone3 into another cgroup", code: `
args = struct.pack('11Q', 0x200000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, os.open('/tmp', os.O_RDONLY))
return call('clone3', args, len(args))`},
		trial{name: "unshare-everything", tries: "unshare with every flag at once", code: "return call('unshare', 0x7e020080)", without: inNamespaces},
		trial{name: "listns", tries: "listing the namespaces of the host", code: "return call('listns', 0, 0, 0, 0)"},
	)
	return b
}

func mountBattery() battery {
	b := battery{
		name: "mounts", about: "Code mounts, moves or uncovers file systems, by the old calls and the new.",
		layer: byFilter, stopped: refusals(),
		fails: "no call that mounts is on the list, and each would take CAP_SYS_ADMIN besides",
	}
	add := func(name, tries, code string, without surroundings) {
		b.trials = append(b.trials, trial{name: name, tries: tries, code: code, without: without})
	}
	for _, kind := range []string{"tmpfs", "proc", "mqueue", "devpts"} { // those that a user namespace may mount
		add("mount-"+kind, "mounting "+kind, fmt.Sprintf("return call('mount', b'x', b'/tmp', b'%s', 0, 0)", kind), inNamespaces)
	}
	for _, kind := range []string{"sysfs", "devtmpfs", "cgroup", "cgroup2", "ext4", "xfs", "overlay", "fuse", "nfs", "9p", "virtiofs", "binfmt_misc", "debugfs", "tracefs", "securityfs", "bpf", "configfs", "hugetlbfs", "efivarfs", "pstore"} {
		add("mount-"+kind, "mounting "+kind, fmt.Sprintf("return call('mount', b'x', b'/tmp', b'%s', 0, 0)", kind), inSandbox)
	}
	add("bind-root", "binding the root over /tmp", "return call('mount', b'/', b'/tmp', 0, 0x1000, 0)", inSandbox)
	add("bind-recursive", "binding the root and all below it over /tmp", "return call('mount', b'/', b'/tmp', 0, 0x5000, 0)", inNamespaces)
	add("bind-proc-self", "binding a directory over /proc/self", "return call('mount', b'/tmp', b'/proc/self', 0, 0x1000, 0)", inSandbox)
	add("bind-dev-null", "binding a file over /dev/null, which masks others", "return call('mount', b'/etc/passwd', b'/dev/null', 0, 0x1000, 0)", inNamespaces)
	add("move-tmp", "moving /tmp over /mnt", "return call('mount', b'/tmp', b'/mnt', 0, 0x2000, 0)", inSandbox)
	add("remount-usr", "remounting /usr to be written", "return call('mount', 0, b'/usr', 0, 0x1020, 0)", inSandbox)
	add("remount-proc-sys", "remounting /proc/sys to be written", "return call('mount', 0, b'/proc/sys', 0, 0x1020, 0)", inSandbox)
	add("remount-suid", "remounting /workspace with set-uid programs and devices", "return call('mount', 0, b'/workspace', 0, 0x20, 0)", inSandbox)
	add("make-shared", "sharing mounts with the host", "return call('mount', 0, b'/', 0, 0x104000, 0)", inNamespaces)
	add("make-slave", "taking mounts from the host", "return call('mount', 0, b'/', 0, 0x84000, 0)", inNamespaces)
	for _, path := range []string{"/proc/kcore", "/proc/sys", "/proc/keys", "/dev/shm", "/workspace"} {
		add("umount"+strings.ReplaceAll(path, "/", "-"), "uncovering the files below "+path, fmt.Sprintf("return call('umount2', b'%s', 2)", path), inSandbox)
	}
	add("umount-tmp", "taking /tmp away", "return call('umount2', b'/tmp', 2)", inNamespaces)
	add("chroot", "another root", "return call('chroot', b'/tmp')", inNamespaces)
	add("chroot-up", "another root, and up from a directory outside of it", "call('chroot', b'/tmp')\nfor _ in range(20): os.chdir('..')\nreturn call('chroot', b'.')", inNamespaces)
	add("pivot-root", "another root in the place of this one", "return call('pivot_root', b'/tmp', b'/tmp')", inSandbox)
	add("fsopen", "a new file system by fsopen", "return call('fsopen', b'tmpfs', 0)", inNamespaces)
	add("fspick", "a file system that is mounted, by fspick", "return call('fspick', -100, b'/tmp', 0)", inNamespaces)
	add("fsconfig", "settings of a file system by fsconfig", "return call('fsconfig', -1, 0, 0, 0, 0)", inSandbox)
	add("fsmount", "a mount of a new file system by fsmount", "return call('fsmount', -1, 0, 0)", inSandbox)
	add("open-tree", "a descriptor of a mount by open_tree", "return call('open_tree', -100, b'/', 0)", inNamespaces)
	add("open-tree-clone", "a copy of the tree by open_tree", "return call('open_tree', -100, b'/tmp', 1)", inNamespaces)
	add("open-tree-attr", "a copy of the tree without its flags, by open_tree_attr", "return call('open_tree_attr', -100, b'/usr', 1, struct.pack('4Q', 0, 1, 0, 0), 32)", inSandbox)
	add("move-mount", "a mount elsewhere by move_mount", "return call('move_mount', -100, b'/tmp', -100, b'/proc', 0)", inSandbox)
	add("mount-setattr", "/usr writable by mount_setattr", "return call('mount_setattr', -100, b'/usr', 0, struct.pack('4Q', 0, 1, 0, 0), 32)", inSandbox)
	add("mount-setattr-idmap", "other ids for the files of a mount", "return call('mount_setattr', -100, b'/usr', 0, struct.pack('4Q', 0x100000, 0, 0, os.open('/proc/self/ns/user', os.O_RDONLY)), 32)", inSandbox)
	return b
}

// refusedCall is a call that the list denies, with arguments that are harmless if it is allowed.
type refusedCall struct{ name, args, tries string }

func callBattery() battery {
	b := battery{
		name: "calls", about: "Code makes system calls that widen its reach into the kernel.",
		layer: byFilter, stopped: refusals(),
		fails: "the calls are not on the list",
	}
	for _, c := range refusedCalls() {
		b.trials = append(b.trials, trial{name: c.name, tries: c.tries, code: fmt.Sprintf("return call('%s', %s)", strings.SplitN(c.name, ":", 2)[0], c.args)})
	}
	for _, c := range refusedCallsThatWork() {
		b.trials = append(b.trials, trial{name: c.name, tries: c.tries, code: fmt.Sprintf("return call('%s', %s)", strings.SplitN(c.name, ":", 2)[0], c.args), without: inNamespaces})
	}
	for _, c := range []struct {
		name  string
		last  int
		tries string
	}{{"bpf", 40, "every command of eBPF"}, {"keyctl", 33, "every command for keyrings"}, {"io_uring_register", 40, "every command for rings"}} {
		b.trials = append(b.trials, trial{name: c.name + ":every", tries: c.tries, code: fmt.Sprintf(`
for command in range(%d):
    try: return call('%s', command, bytes(128), 128, 0, 0)
    except OSError as e:
        if e.errno not in (errno.EPERM, errno.ENOSYS): raise
raise OSError(errno.EPERM, '')`, c.last, c.name)})
	}
	for _, p := range []struct{ name, value, tries string }{
		{"no-randomize", "0x0040000", "memory at known addresses"},
		{"mmap-page-zero", "0x0100000", "page 0 mapped"},
		{"short-inode", "0x1000000", "inodes of 16 bits"},
		{"read-implies-exec", "0x0400000", "all memory executable"},
		{"addr-3gb", "0x8000000", "addresses of a 32-bit process"},
		{"compat-layout", "0x0200000", "the old layout of memory"},
	} {
		b.trials = append(b.trials, trial{name: "personality:" + p.name, tries: "personality with " + p.tries, code: fmt.Sprintf("return call('personality', %s)", p.value), without: inNamespaces})
	}
	return b
}

// refusedCallsThatWork are calls that succeed for root of a user namespace.
func refusedCallsThatWork() []refusedCall {
	return []refusedCall{
		{"keyctl:session", "0, -3, 1, 0, 0", "the session keyring, which may be the host's"},
		{"keyctl:new-session", "1, 0, 0, 0, 0", "a session keyring of its own"},
		{"add_key", "b'user', b'x', b'secret', 6, -3", "a key in the kernel's memory"},
		{"userfaultfd", "1", "memory faults served by code, which make races in the kernel easy to win"},
		{"sethostname", "b'x', 1", "another name of the host"},
		{"setdomainname", "b'x', 1", "another name of its domain"},
		{"kcmp", "os.getpid(), os.getpid(), 0, 0, 0", "comparing kernel objects, which tells their addresses' order"},
	}
}

func refusedCalls() []refusedCall {
	return []refusedCall{
		{"acct", "b'/tmp/acct'", "accounting of processes into a file"},
		{"bpf:map", "0, struct.pack('4I', 1, 4, 4, 1) + bytes(112), 128", "a map of eBPF"},
		{"bpf:program", "5, bytes(128), 128", "a program of eBPF"},
		{"bpf:object", "7, bytes(128), 128", "a pinned object of eBPF"},
		{"bpf:token", "36, bytes(128), 128", "a token for eBPF"},
		{"perf_event_open", "struct.pack('IIQ', 1, 112, 0) + bytes(96), 0, -1, -1, 0", "counters of the processor"},
		{"io_uring_setup", "8, bytes(120)", "a ring, whose calls pass by the filter"},
		{"io_uring_enter", "-1, 0, 1, 1, 0, 0", "entering a ring"},
		{"io_uring_register", "-1, 0, 0, 0", "registering buffers of a ring"},
		{"io_setup", "1024, ctypes.byref(ctypes.c_ulong(0))", "asynchronous I/O, of which the host has one store"},
		{"open_by_handle_at", "os.open('/usr', os.O_RDONLY), struct.pack('IiQ', 8, 1, 2), 0", "a file of the host by its inode (shocker)"},
		{"request_key", "b'user', b'x', 0, -3", "a key, for which the kernel may start a program as root"},
		{"keyctl:instantiate", "20, 0, 0, 0, 0", "filling a key of another"},
		{"init_module", "b'x', 1, b''", "a module of the kernel"},
		{"finit_module", "-1, b'', 0", "a module of the kernel from a file"},
		{"delete_module", "b'ext4', 0x800", "a module of the kernel removed"},
		{"create_module", "b'x', 1", "a module by the oldest call"},
		{"query_module", "0, 0, 0, 0, 0", "the list of modules"},
		{"get_kernel_syms", "0", "addresses of the kernel"},
		{"kexec_load", "0, 0, 0, 0", "another kernel"},
		{"kexec_file_load", "-1, -1, 0, 0, 0", "another kernel from a file"},
		{"reboot", "0xfee1dead, 672274793, 0, 0", "whether Ctrl-Alt-Del reboots"},
		{"swapon", "b'/tmp/none', 0", "swap space"},
		{"swapoff", "b'/tmp/none'", "swap space taken away"},
		{"settimeofday", "0, struct.pack('ii', 0, 0)", "the time zone of the kernel"},
		{"clock_settime", "0, 0", "the clock"},
		{"iopl", "3", "every port of the machine"},
		{"ioperm", "0x70, 2, 1", "ports of the clock"},
		{"lookup_dcookie", "0, 0, 0", "paths by cookie"},
		{"nfsservctl", "0, 0, 0", "the NFS server of the kernel"},
		{"quotactl", "0x800002 << 8, 0, 0, 0", "quotas"},
		{"quotactl_fd", "0, 0x800002 << 8, 0, 0", "quotas by descriptor"},
		{"fanotify_init", "0, 0", "watching every file of a file system"},
		{"move_pages", "0, 0, 0, 0, 0, 0", "moving memory between nodes"},
		{"migrate_pages", "0, 0, 0, 0", "moving a process between nodes"},
		{"vhangup", "", "ending the sessions at a terminal"},
		{"syslog:read-all", "3, bytes(100), 100", "the kernel's log"},
		{"syslog:clear", "5, 0, 0", "clearing the kernel's log"},
		{"sysfs", "3", "the list of file systems"},
		{"_sysctl", "0", "settings of the kernel by the old call"},
		{"uselib", "b'/tmp/none'", "a library by the old call"},
		{"ustat", "0, 0", "file systems by number"},
		{"setns", "-1, 0", "a namespace by a descriptor that is not one"},
		{"lsm_set_self_attr", "100, 0, 0, 0", "another label of itself"},
		{"pidfd_getfd:init", "os.pidfd_open(1), 0, 0", "a descriptor of yurt-init"},
		{"process_madvise:init", "os.pidfd_open(1), 0, 0, 21, 0", "memory of yurt-init paged out"},
	}
}

// families are the kinds of sockets that are not on the list.
func socketBattery() battery {
	b := battery{
		name: "socket-families", about: "Code opens kinds of sockets that reach seldom-used parts of the kernel, or devices outside of it.",
		layer: byFilter, stopped: refusals(),
		fails: "the list knows four families; a host would load a module for another, and of vsock, which leads to the hypervisor, there is no namespace",
	}
	families := []struct {
		name   string
		number int
	}{
		{"AX25", 3},
		{"IPX", 4},
		{"APPLETALK", 5},
		{"NETROM", 6},
		{"BRIDGE", 7},
		{"ATMPVC", 8},
		{"X25", 9},
		{"ROSE", 11},
		{"DECnet", 12},
		{"NETBEUI", 13},
		{"SECURITY", 14},
		{"KEY", 15},
		{"PACKET", 17},
		{"ASH", 18},
		{"ECONET", 19},
		{"ATMSVC", 20},
		{"RDS", 21},
		{"SNA", 22},
		{"IRDA", 23},
		{"PPPOX", 24},
		{"WANPIPE", 25},
		{"LLC", 26},
		{"IB", 27},
		{"MPLS", 28},
		{"CAN", 29},
		{"TIPC", 30},
		{"BLUETOOTH", 31},
		{"IUCV", 32},
		{"RXRPC", 33},
		{"ISDN", 34},
		{"PHONET", 35},
		{"IEEE802154", 36},
		{"CAIF", 37},
		{"ALG", 38},
		{"NFC", 39},
		{"VSOCK", 40},
		{"KCM", 41},
		{"QIPCRTR", 42},
		{"SMC", 43},
		{"XDP", 44},
		{"MCTP", 45},
	}
	for _, f := range families {
		a := trial{name: "AF_" + f.name, tries: fmt.Sprintf("sockets of AF_%s, of each type, and pairs of them, with higher bits set too that the kernel does not look at", f.name), code: fmt.Sprintf(`
refusals = set()
for kind in (1, 2, 3, 5):
    for bits in (0, 1 << 32, 0xffffffff << 32):
        result = syscall('socket', ctypes.c_ulong(bits | %d), kind, 3 if %d == 17 else 0)
        if result >= 0: return result
        refusals.add(-result)
        result = syscall('socketpair', ctypes.c_ulong(bits | %d), kind, 0, bytes(8))
        if result >= 0: return result
        refusals.add(-result)
worst = next(iter(refusals - {errno.EPERM}), errno.EPERM)
raise OSError(worst, '')`, f.number, f.number, f.number)}
		if f.name == "PACKET" {
			a.without = inNamespaces
		}
		b.trials = append(b.trials, a)
	}
	for _, protocol := range []struct {
		name   string
		number int
	}{{"icmp", 1}, {"tcp", 6}, {"udp", 17}, {"raw", 255}} {
		b.trials = append(b.trials,
			trial{name: "raw-" + protocol.name, tries: "raw packets of IPv4: " + protocol.name, layer: byCapabilities, code: fmt.Sprintf("return socket.socket(socket.AF_INET, socket.SOCK_RAW, %d)", protocol.number), without: inNamespaces},
			trial{name: "raw6-" + protocol.name, tries: "raw packets of IPv6: " + protocol.name, layer: byCapabilities, code: fmt.Sprintf("return socket.socket(socket.AF_INET6, socket.SOCK_RAW, %d)", protocol.number), without: inNamespaces})
	}
	b.trials = append(b.trials,
		trial{name: "ping", tries: "echo requests without a raw socket", layer: byNamespaces, stopped: []string{"EACCES", "EPERM"}, code: "return socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1)"},
		trial{name: "low-port", tries: "a port of the system's services", layer: byCapabilities, stopped: []string{"EACCES"}, code: "return socket.socket().bind(('', 80))", without: inNamespaces})
	return b
}
