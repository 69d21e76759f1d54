package oci

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/executor/lsm"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
	"github.com/yurtrun/yurt/internal/linux/oomscore"
)

// Options are the differences between sandboxes.
type Options struct {
	IDBase     uint32 // host id of the sandbox's root; its range ends IDBase+[idrange.Size]-1
	Layout     layout.Layout
	Disk       yurt.Size // of the workspace, and again of /tmp
	Memory     yurt.Size
	CgroupPath string   // on cgroup v2, where init is born
	InitArgs   []string // of yurt-init, after its name
	MaxFiles   uint64   // open files of a process
	Workspace  string   // on the host's disk, what holds it: an image's file, or a directory; "" for memory
	AppArmor   string   // profile of all processes; "" leaves them unconfined
	SELinux    lsm.Labels
	Layered    bool    // init gives each process namespaces of its own
	Hostname   string  // "" for that of all sandboxes
	Uptime     *Uptime // the clocks of the host; nil if the kernel has no time namespaces
}

// Spec returns the specification. It leaves Root.Path to the launcher, which lays out the root file system: the
// launcher mounts the parts that all sandboxes of a template share, such as the host's directories and /dev, once, and
// the specification does not list them.
func Spec(o Options) *specs.Spec {
	spec := &specs.Spec{
		Version:  specs.Version,
		Root:     &specs.Root{Readonly: true},
		Hostname: cmp.Or(o.Hostname, rootfs.Hostname),
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
			UIDMappings:   []specs.LinuxIDMapping{{ContainerID: 0, HostID: o.IDBase, Size: idrange.Size}},
			GIDMappings:   []specs.LinuxIDMapping{{ContainerID: 0, HostID: o.IDBase, Size: idrange.Size}},
			MaskedPaths:   maskedPaths(),
			ReadonlyPaths: readonlyPaths(),
			MountLabel:    o.SELinux.Files,
			CgroupsPath:   o.CgroupPath,
			Sysctl:        sysctls(),
			// A sandbox may not reach any device; executor/cgroup sets limits.
			Resources: &specs.LinuxResources{Devices: []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}}},
		},
	}
	for _, d := range o.Layout.Devices {
		major, minor := int64(d.Major), int64(d.Minor)
		spec.Linux.Resources.Devices = append(spec.Linux.Resources.Devices, specs.LinuxDeviceCgroup{Allow: true, Type: d.Kind(), Major: &major, Minor: &minor, Access: d.Access})
	}
	if o.Uptime != nil {
		o.Uptime.hide(spec.Linux)
	}
	return spec
}

// initProcess is yurt-init: root of the user namespace, with just the capabilities to start processes as another user
// and to take every capability from them.
func initProcess(o Options) *specs.Process {
	// The last is to take sockets of code, see executor/initd/sockets.
	capabilities := []string{"CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_KILL", "CAP_SYS_PTRACE"}
	if o.Layered { // to mount each process's own file systems
		capabilities = append(capabilities, "CAP_SYS_ADMIN")
	}
	first := oomscore.Sandbox // to end for want of memory, and its children with it
	return &specs.Process{
		User:            specs.User{UID: 0, GID: 0},
		OOMScoreAdj:     &first,
		ApparmorProfile: o.AppArmor,
		SelinuxLabel:    o.SELinux.Process,
		Args:            append([]string{layout.InitPath}, o.InitArgs...),
		// Without HOME, libcontainer would look it up. One processor is enough for a process that nearly always waits,
		// and takes less memory.
		Env:             []string{"PATH=/usr/bin:/bin", "HOME=/", "GOMAXPROCS=1"},
		Cwd:             "/",
		NoNewPrivileges: true,
		Capabilities: &specs.LinuxCapabilities{
			Bounding: capabilities, Effective: capabilities, Permitted: capabilities,
		},
		Rlimits: []specs.POSIXRlimit{
			// With a limit of 0, a host that passes core dumps to a program would still do so; with 1 the kernel makes
			// no dump. The filter keeps code from changing it.
			{Type: "RLIMIT_CORE", Hard: 1, Soft: 1},
			{Type: "RLIMIT_NOFILE", Hard: o.MaxFiles, Soft: o.MaxFiles},
			{Type: "RLIMIT_MSGQUEUE", Hard: 0, Soft: 0},
			{Type: "RLIMIT_SIGPENDING", Hard: maxSignals, Soft: maxSignals},
			{Type: "RLIMIT_MEMLOCK", Hard: 64 << 10, Soft: 64 << 10},
			{Type: "RLIMIT_NICE", Hard: 0, Soft: 0},
			{Type: "RLIMIT_RTPRIO", Hard: 0, Soft: 0},
		},
	}
}

// A sandbox's share of stores that the kernel has only once, or once for each user.
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
		// One more barrier against user namespaces.
		"user.max_user_namespaces": "0",
	}
}

// Writable returns the directories that user code may write to.
func Writable() []string { return []string{yurt.WorkspaceDir, "/tmp", "/dev/shm"} }

func mounts(o Options) []specs.Mount {
	sized := Volumes(o.Disk, o.Memory)
	list := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "nodev", "noexec", "hidepid=2"}},
		{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5", fmt.Sprintf("max=%d", maxTerminals)}},
		{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "nodev", "noexec", "mode=1777", sized[ShmDir].option()}},
	}
	user := fmt.Sprintf("uid=%d,gid=%d", rootfs.UserID, rootfs.GroupID)
	return append(list,
		specs.Mount{Destination: TempDir, Type: "tmpfs", Source: "tmp", Options: []string{"nosuid", "nodev", "mode=1777", sized[TempDir].option()}},
		specs.Mount{Destination: rootfs.RunDir, Type: "tmpfs", Source: "run", Options: []string{"nosuid", "nodev", "mode=0755", Sizes{runDirSize, runDirInodes}.option()}},
		workspace(o, user, sized[yurt.WorkspaceDir]),
	)
}

// workspace is the one mount that may be a bind: of a directory that the launcher mounts.
func workspace(o Options, user string, sizes Sizes) specs.Mount {
	if o.Workspace != "" {
		return specs.Mount{Destination: yurt.WorkspaceDir, Type: "bind", Source: o.Workspace, Options: []string{"bind", "nosuid", "nodev"}}
	}
	return specs.Mount{Destination: yurt.WorkspaceDir, Type: "tmpfs", Source: "workspace", Options: []string{"nosuid", "nodev", "mode=0755", user, sizes.option()}}
}

// The size of rootfs.RunDir, with the files of executions, which only the host writes.
const (
	runDirSize   yurt.Size = 64 << 20
	runDirInodes           = 16384
)

// Where a sandbox may write, beside its workspace.
const (
	TempDir = "/tmp"
	ShmDir  = "/dev/shm"
)

// Sizes bound a file system: neither inodes nor bytes are without end.
type Sizes struct {
	Bytes  yurt.Size
	Inodes int64
}

func (s Sizes) option() string { return fmt.Sprintf("size=%d,nr_inodes=%d", int64(s.Bytes), s.Inodes) }

// Volumes returns the file systems in memory whose sizes follow from the limits of the
// sandbox, by where they are mounted.
func Volumes(disk, memory yurt.Size) map[string]Sizes {
	files := Sizes{Bytes: disk, Inodes: max(int64(disk)/2048, 1024)} // two for each 4 KiB are plenty
	return map[string]Sizes{
		yurt.WorkspaceDir: files,
		TempDir:           files,
		ShmDir:            {Bytes: memory / 2, Inodes: 4096},
	}
}

// OwnOptions returns the mounts that each process with namespaces of its own gets for itself: options of a file system
// in memory, by mount point.
func OwnOptions(disk, memory yurt.Size) map[string]string {
	sized := Volumes(disk, memory)
	return map[string]string{
		TempDir: "mode=1777," + sized[TempDir].option(),
		ShmDir:  "noexec,mode=1777," + sized[ShmDir].option(),
	}
}
