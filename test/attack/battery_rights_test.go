package attack

import (
	"fmt"
	"strings"
)

func capabilityBattery() battery {
	b := battery{
		name: "capabilities", about: "Code raises a capability: in its own sets, in those that a program inherits, and in the ambient set.",
		layer: byCapabilities, stopped: []string{"EPERM"},
		fails: "code has no capability, and the bounding set of the sandbox is empty",
		python: `
def raise_capability(number):
    word, bit = number // 32, 1 << number % 32
    header = struct.pack('Ii', 0x20080522, 0)
    for inheritable in (0, bit):
        sets = [[0, 0, 0], [0, 0, 0]]
        sets[word] = [bit, bit, inheritable]
        result = syscall('capset', header, struct.pack('6I', *sets[0], *sets[1]))
        if result < 0: raise OSError(-result, 'capset')
    libc.prctl(47, 2, number, 0, 0)                     # PR_CAP_AMBIENT_RAISE
    have = [l for l in open('/proc/self/status') if l.startswith('CapEff')][0].split()[1]
    if not int(have, 16) >> number & 1: raise Held
    return have
`,
	}
	names := "chown dac_override dac_read_search fowner fsetid kill setgid setuid setpcap linux_immutable net_bind_service net_broadcast net_admin net_raw " +
		"ipc_lock ipc_owner sys_module sys_rawio sys_chroot sys_ptrace sys_pacct sys_admin sys_boot sys_nice sys_resource sys_time sys_tty_config mknod lease " +
		"audit_write audit_control setfcap mac_override mac_admin syslog wake_alarm block_suspend audit_read perfmon bpf checkpoint_restore"
	for number, name := range strings.Fields(names) {
		b.trials = append(b.trials, trial{name: "cap_" + name, tries: "raising CAP_" + strings.ToUpper(name), code: fmt.Sprintf("return raise_capability(%d)", number), without: inNamespaces})
	}
	for _, change := range []struct{ name, tries, code string }{
		{"setuid-root", "becoming root", "return os.setuid(0)"},
		{"setgid-root", "becoming a member of root's group", "return os.setgid(0)"},
		{"setresuid-other", "becoming another user of the sandbox", "return os.setresuid(1001, 1001, 1001)"},
		{"setgroups", "further groups", "return os.setgroups([0])"},
		{"chown-file", "giving a file to root", "open('/tmp/f', 'w').close()\nreturn os.chown('/tmp/f', 0, 0)"},
		{"nice", "a higher priority than that of others", "return os.setpriority(os.PRIO_PROCESS, 0, -20)"},
		{"keep-capabilities", "no-new-privileges taken back", "if libc.prctl(38, 0, 0, 0, 0) == 0: return 'taken back'\nraise OSError(errno.EPERM, '')"},
		{"file-capabilities", "a program with capabilities of its own", "open('/tmp/p', 'w').close()\nreturn os.setxattr('/tmp/p', 'security.capability', struct.pack('<5I', 0x2000001, 1 << 21, 0, 0, 0))"},
	} {
		a := trial{name: change.name, tries: change.tries, code: change.code, without: inNamespaces, layer: byIdentity}
		if change.name == "keep-capabilities" || change.name == "nice" {
			a.without = inSandbox
		}
		if change.name == "nice" {
			a.stopped = []string{"EACCES", "EPERM"}
		}
		b.trials = append(b.trials, a)
	}
	return b
}

// controlBattery writes to files of /proc that control the kernel.
func controlBattery() battery {
	b := battery{
		name: "proc-writes", about: "Code writes to files of /proc that control the kernel.",
		layer: byMounts, stopped: []string{"EROFS", "EACCES", "EPERM", "ENOENT"},
		fails: "/proc/sys and similar directories are mounted read-only and belong to a user without an id here, files that act on the host are masked, and landlock lets code write to no file in /proc",
		python: `
def control(path, text):
    if os.path.exists(path) and os.stat(path).st_rdev == os.makedev(1, 3): raise OSError(errno.ENOENT, 'masked')
    return write(path, text)
`,
	}
	for _, path := range strings.Fields(`sys/kernel/core_pattern sys/kernel/core_pipe_limit sys/kernel/modprobe sys/kernel/modules_disabled sys/kernel/hostname sys/kernel/domainname
		sys/kernel/ns_last_pid sys/kernel/panic sys/kernel/panic_on_oops sys/kernel/sysrq sys/kernel/randomize_va_space sys/kernel/yama/ptrace_scope sys/kernel/dmesg_restrict
		sys/kernel/kptr_restrict sys/kernel/perf_event_paranoid sys/kernel/unprivileged_bpf_disabled sys/kernel/kexec_load_disabled sys/kernel/pid_max sys/kernel/threads-max
		sys/kernel/keys/maxbytes sys/kernel/hung_task_panic sys/kernel/usermodehelper/bset sys/kernel/shmmax sys/kernel/msgmni sys/kernel/io_uring_disabled sys/kernel/printk
		sys/vm/overcommit_memory sys/vm/drop_caches sys/vm/mmap_min_addr sys/vm/swappiness sys/vm/oom_kill_allocating_task sys/vm/panic_on_oom sys/vm/nr_hugepages sys/vm/unprivileged_userfaultfd
		sys/fs/file-max sys/fs/nr_open sys/fs/protected_symlinks sys/fs/protected_hardlinks sys/fs/suid_dumpable sys/fs/binfmt_misc/register sys/fs/inotify/max_user_instances sys/fs/pipe-max-size sys/fs/aio-max-nr
		sys/net/ipv4/ip_forward sys/net/ipv4/conf/all/route_localnet sys/net/ipv4/ping_group_range sys/net/ipv4/ip_unprivileged_port_start sys/net/core/bpf_jit_enable sys/net/core/somaxconn
		sys/user/max_user_namespaces sys/user/max_inotify_instances sysrq-trigger irq/default_smp_affinity mtrr bus/pci/00/00.0 acpi/wakeup scsi/scsi pressure/memory fs/nfsd/threads
		self/uid_map self/gid_map self/projid_map self/setgroups self/loginuid self/attr/current self/attr/exec self/attr/fscreate self/clear_refs self/mem self/oom_score_adj self/coredump_filter self/timerslack_ns
		1/oom_score_adj 1/mem 1/attr/current 1/clear_refs 1/comm 1/timens_offsets self/timens_offsets`) {
		a := trial{name: path, tries: "writing to /proc/" + path, code: fmt.Sprintf("return control('/proc/%s', '1')", path)}
		switch {
		case strings.HasPrefix(path, "self/"):
			a.layer = byLandlock
		case strings.HasPrefix(path, "1/"):
			a.layer = byNamespaces
		}
		if path == "self/coredump_filter" || path == "self/mem" || path == "self/timens_offsets" {
			a.stopped = append([]string{"EIO", "EINVAL"}, b.stopped...)
		}
		switch path {
		case "self/oom_score_adj":
			a.code, a.tries = "return control('/proc/self/oom_score_adj', '-1000')", "being spared when memory is short"
		case "sys/kernel/hostname", "sys/kernel/domainname", "sys/net/ipv4/ip_forward", "sys/net/ipv4/conf/all/route_localnet", "self/coredump_filter", "self/clear_refs", "sys/kernel/shmmax":
			a.without = inNamespaces
		}
		b.trials = append(b.trials, a)
	}
	return b
}

// tellingBattery reads files of /proc that tell of the host.
func tellingBattery() battery {
	b := battery{
		name: "proc-reads", about: "Code reads files of /proc that tell of the host or hold its memory.",
		layer: byMounts, stopped: []string{"held", "EACCES", "EPERM", "ENOENT"},
		fails: "they are masked: empty, or not there",
		python: `
def telling(path):
    text = open(path, 'rb').read(100)
    if not text.strip(): raise Held
    return text
`,
	}
	for _, path := range strings.Fields("kcore kallsyms kmsg keys key-users timer_list timer_stats modules cmdline interrupts slabinfo vmallocinfo iomem ioports config.gz sched_debug kpagecount kpageflags kpagecgroup latency_stats") {
		a := trial{name: path, tries: "reading /proc/" + path, code: fmt.Sprintf("return telling('/proc/%s')", path)}
		if path == "interrupts" || path == "cmdline" || path == "iomem" {
			a.without = onHost
		}
		b.trials = append(b.trials, a)
	}
	for _, name := range strings.Fields("environ cmdline maps stack syscall io auxv mountinfo status cgroup") {
		a := trial{
			name: "init-" + name, tries: "reading /proc/1/" + name, layer: byNamespaces, without: onHost,
			code: fmt.Sprintf("return telling('/proc/%%d/%s' %% FIRST)", name),
		}
		if name == "stack" || name == "syscall" { // not every kernel has them
			a.without = inSandbox
		}
		b.trials = append(b.trials, a)
	}
	for _, name := range strings.Fields("root cwd exe") {
		b.trials = append(b.trials, trial{
			name: "init-" + name, tries: "following /proc/1/" + name, layer: byNamespaces, without: onHost,
			code: fmt.Sprintf("return os.readlink('/proc/%%d/%s' %% FIRST)", name),
		})
	}
	for _, name := range strings.Fields("fd fdinfo task map_files ns") {
		b.trials = append(b.trials, trial{
			name: "init-" + name, tries: "listing /proc/1/" + name, layer: byNamespaces, without: onHost,
			code: fmt.Sprintf("return os.listdir('/proc/%%d/%s' %% FIRST)", name),
		})
	}
	return b
}

func sysBattery() battery {
	b := battery{
		name: "sys", about: "Code looks for files of /sys, which control the kernel and its devices.",
		layer: byMounts, stopped: []string{"ENOENT"},
		fails: "a sandbox has no /sys",
	}
	for _, path := range strings.Fields(`kernel/uevent_helper kernel/debug kernel/tracing kernel/security kernel/kexec_crash_loaded kernel/mm/transparent_hugepage/enabled kernel/mm/ksm/run
		kernel/vmcoreinfo kernel/notes kernel/btf/vmlinux kernel/config power/state firmware/efi/efivars firmware/dmi/tables/DMI devices/system/cpu/cpu0/online devices/virtual/dmi/id/product_uuid
		fs/cgroup/release_agent fs/cgroup/memory/release_agent fs/cgroup/rdma/release_agent fs/cgroup/cgroup.procs fs/cgroup/cgroup.subtree_control fs/bpf fs/pstore fs/selinux/enforce
		module bus/pci/rescan class/net block dev/block`) {
		a := trial{name: path, tries: "finding /sys/" + path, code: fmt.Sprintf("return absent('/sys/%s')", path)}
		if path == "block" || path == "class/net" || path == "kernel/mm/transparent_hugepage/enabled" {
			a.without = onHost
		}
		b.trials = append(b.trials, a)
	}
	return b
}

func deviceBattery() battery {
	b := battery{
		name: "devices", about: "Code opens devices of the host.",
		layer: byMounts, stopped: []string{"ENOENT", "EACCES", "EPERM"},
		fails: "/dev holds seven harmless nodes and no other, and landlock and the cgroup's rules allow no other",
	}
	for _, name := range strings.Fields(`mem kmem port kmsg console tty0 tty1 ttyS0 vcs fuse cuse kvm net/tun vhost-net vhost-vsock vsock loop-control loop0 sda vda xvda nvme0 nvme0n1 dm-0 mapper/control md0 sr0 zram0
		userfaultfd hpet rtc0 nvram watchdog uinput input/event0 input/mice snd/timer dri/card0 dri/renderD128 nvidiactl nvidia0 kfd fb0 autofs btrfs-control ppp rfkill vfio/vfio binder udmabuf dma_heap/system
		sgx_enclave sev cpu/0/msr cpu/0/cpuid cpu_dma_latency mcelog hwrng tpm0 vga_arbiter mqueue hugepages bus/usb/001/001`) {
		a := trial{name: name, tries: "opening /dev/" + name, code: fmt.Sprintf("return os.open('/dev/%s', os.O_RDONLY | os.O_NONBLOCK)", name)}
		if name == "kmsg" || name == "console" || name == "loop-control" {
			a.without = onHost
		}
		b.trials = append(b.trials, a)
	}
	b.trials = append(b.trials,
		trial{name: "tty", tries: "opening the terminal of the user who started the sandbox", code: "return os.open('/dev/tty', os.O_RDWR)", stopped: []string{"ENXIO"}, layer: byNamespaces},
		trial{name: "terminals", tries: "terminals of the host", code: "found = set(os.listdir('/dev/pts')) - {'ptmx'}\nif not found: raise Held\nreturn found", stopped: []string{"held"}, layer: byNamespaces},
		trial{name: "tty-input", tries: "typing into the terminal of another (TIOCSTI)", layer: byNamespaces, stopped: []string{"ENOTTY", "EPERM"}, code: "import fcntl\nfor fd in (0, 1, 2): fcntl.ioctl(fd, 0x5412, b'x')\nreturn 'typed'"},
		trial{name: "console-paste", tries: "typing by TIOCLINUX", layer: byNamespaces, stopped: []string{"ENOTTY", "EPERM"}, code: "import fcntl\nfor fd in (0, 1, 2): fcntl.ioctl(fd, 0x541c, b'\\x02' + bytes(16))\nreturn 'typed'"},
	)
	return b
}

func nodeBattery() battery {
	b := battery{
		name: "nodes", about: "Code makes device nodes of its own, wherever it may write.",
		layer: byIdentity, stopped: []string{"EPERM", "EACCES"},
		fails: "making one takes CAP_MKNOD on the host, and no file system of a sandbox honours one",
		python: `
def node(kind, major, minor):
    import tempfile
    for where in ('/workspace', '/dev/shm', '/tmp'):
        if not os.path.isdir(where): continue
        path = os.path.join(where, 'node%d' % os.getpid())
        os.mknod(path, 0o666 | kind, os.makedev(major, minor))
        os.unlink(path)
    return 'made'
`,
	}
	for _, n := range []struct {
		name, kind   string
		major, minor int
	}{
		{"mem", "CHR", 1, 1},
		{"kmem", "CHR", 1, 2},
		{"port", "CHR", 1, 4},
		{"kmsg", "CHR", 1, 11},
		{"tty0", "CHR", 4, 0},
		{"console", "CHR", 5, 1},
		{"null", "CHR", 1, 3},
		{"fuse", "CHR", 10, 229},
		{"kvm", "CHR", 10, 232},
		{"tun", "CHR", 10, 200},
		{"loop-control", "CHR", 10, 237},
		{"device-mapper", "CHR", 10, 236},
		{"vhost-vsock", "CHR", 10, 241},
		{"msr", "CHR", 202, 0},
		{"nvidia", "CHR", 195, 255},
		{"loop0", "BLK", 7, 0},
		{"sda", "BLK", 8, 0},
		{"vda", "BLK", 254, 0},
		{"nvme0n1", "BLK", 259, 0},
		{"dm-0", "BLK", 253, 0},
		{"xvda", "BLK", 202, 0},
	} {
		a := trial{name: n.name, tries: fmt.Sprintf("mknod of %s, %d:%d", n.name, n.major, n.minor), code: fmt.Sprintf("return node(stat.S_IF%s, %d, %d)", n.kind, n.major, n.minor)}
		if n.name == "mem" || n.name == "sda" {
			a.without = onHost
		}
		b.trials = append(b.trials, a)
	}
	return b
}
