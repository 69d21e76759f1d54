package oci

import (
	"fmt"
	"strconv"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/rootfs"
)

// IDRange is how many user and group ids every sandbox has to itself.
const IDRange = 65536

// Options are what differs between sandboxes.
type Options struct {
	IDBase     uint32 // host id of the sandbox's root; its range ends IDBase+IDRange-1
	Layout     rootfs.Layout
	Disk       yurt.Size // of the workspace, and again of /tmp
	Memory     yurt.Size
	CgroupPath string   // on cgroup v2, where init is born
	InitArgs   []string // of yurt-init, after its name
	MaxFiles   uint64   // open files of a process
}

// Spec returns the specification. Root.Path is left to the launcher, which lays
// the root file system out: what is the same for all sandboxes of a template, the
// host's directories and /dev among it, is mounted there once and not listed here.
func Spec(o Options) *specs.Spec {
	return &specs.Spec{
		Version:  specs.Version,
		Root:     &specs.Root{Readonly: true},
		Hostname: "sandbox",
		Process:  initProcess(o),
		Mounts:   mounts(o),
		Linux: &specs.Linux{
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.UserNamespace},
				{Type: specs.PIDNamespace},
				{Type: specs.NetworkNamespace},
				{Type: specs.MountNamespace},
				{Type: specs.IPCNamespace},
				{Type: specs.UTSNamespace},
				{Type: specs.CgroupNamespace},
			},
			UIDMappings:   []specs.LinuxIDMapping{{ContainerID: 0, HostID: o.IDBase, Size: IDRange}},
			GIDMappings:   []specs.LinuxIDMapping{{ContainerID: 0, HostID: o.IDBase, Size: IDRange}},
			MaskedPaths:   maskedPaths(),
			ReadonlyPaths: readonlyPaths(),
			CgroupsPath:   o.CgroupPath,
			Sysctl:        sysctls(),
			// What a sandbox may not reach at all; limits are set by executor/cgroup.
			Resources: &specs.LinuxResources{Devices: []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}}},
		},
	}
}

// initProcess is yurt-init: root of the user namespace, with just what it takes to
// start processes as another user and to take every capability from them.
func initProcess(o Options) *specs.Process {
	capabilities := []string{"CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_KILL"}
	return &specs.Process{
		User:            specs.User{UID: 0, GID: 0},
		Args:            append([]string{rootfs.InitPath}, o.InitArgs...),
		Env:             []string{"PATH=/usr/bin:/bin", "GOMAXPROCS=2"},
		Cwd:             "/",
		NoNewPrivileges: true,
		Capabilities: &specs.LinuxCapabilities{
			Bounding: capabilities, Effective: capabilities, Permitted: capabilities,
		},
		Rlimits: []specs.POSIXRlimit{
			{Type: "RLIMIT_CORE", Hard: 0, Soft: 0},
			{Type: "RLIMIT_NOFILE", Hard: o.MaxFiles, Soft: o.MaxFiles},
			{Type: "RLIMIT_MSGQUEUE", Hard: 0, Soft: 0},
			{Type: "RLIMIT_SIGPENDING", Hard: maxSignals, Soft: maxSignals},
			{Type: "RLIMIT_MEMLOCK", Hard: 64 << 10, Soft: 64 << 10},
			{Type: "RLIMIT_NICE", Hard: 0, Soft: 0},
			{Type: "RLIMIT_RTPRIO", Hard: 0, Soft: 0},
		},
	}
}

// What the kernel has one store of, for the host's root and all sandboxes together,
// of which a sandbox may take so much.
const (
	maxSignals   = 4096 // pending, timers included
	maxTerminals = 64
	maxWatchers  = 16    // inotify instances; hosts have 128 unless told otherwise
	maxWatches   = 16384 // files that they watch
)

// sysctls are those of the sandbox's own user namespace.
func sysctls() map[string]string {
	return map[string]string{
		"user.max_inotify_instances": strconv.Itoa(maxWatchers),
		"user.max_inotify_watches":   strconv.Itoa(maxWatches),
		// One more reason for which none can be made.
		"user.max_user_namespaces": "0",
	}
}

func mounts(o Options) []specs.Mount {
	list := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "nodev", "noexec", "hidepid=2"}},
		{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5", fmt.Sprintf("max=%d", maxTerminals)}},
		{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "nodev", "noexec", "mode=1777", sizeOption(o.Memory/2, 4096)}},
	}
	user := fmt.Sprintf("uid=%d,gid=%d", rootfs.UserID, rootfs.GroupID)
	// Neither inodes nor bytes without bound; two inodes for each 4 KiB are plenty.
	inodes := max(int64(o.Disk)/2048, 1024)
	return append(list,
		specs.Mount{Destination: "/tmp", Type: "tmpfs", Source: "tmp", Options: []string{"nosuid", "nodev", "mode=1777", sizeOption(o.Disk, inodes)}},
		specs.Mount{Destination: rootfs.RunDir, Type: "tmpfs", Source: "run", Options: []string{"nosuid", "nodev", "mode=0755", sizeOption(runDirSize, runDirInodes)}},
		specs.Mount{Destination: yurt.WorkspaceDir, Type: "tmpfs", Source: "workspace", Options: []string{"nosuid", "nodev", "mode=0755", user, sizeOption(o.Disk, inodes)}},
	)
}

// What executions put into rootfs.RunDir, which only the host writes to.
const (
	runDirSize   yurt.Size = 64 << 20
	runDirInodes           = 16384
)

func sizeOption(bytes yurt.Size, inodes int64) string {
	return fmt.Sprintf("size=%d,nr_inodes=%d", int64(bytes), inodes)
}

// maskedPaths are what of /proc tells about the host or can be made to act on it.
func maskedPaths() []string {
	return []string{
		"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kallsyms", "/proc/kcore", "/proc/keys", "/proc/key-users",
		"/proc/kmsg", "/proc/kpagecgroup", "/proc/kpagecount", "/proc/kpageflags", "/proc/latency_stats", "/proc/modules",
		"/proc/sched_debug", "/proc/scsi", "/proc/slabinfo", "/proc/sysrq-trigger", "/proc/timer_list", "/proc/timer_stats",
		"/proc/vmallocinfo", "/proc/cmdline", "/proc/config.gz", "/proc/iomem", "/proc/ioports",
	}
}

// readonlyPaths are what of /proc may be read and never written.
func readonlyPaths() []string {
	return []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/pressure"}
}
