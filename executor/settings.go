package executor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/disk"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/executor/launch"
	"github.com/yurtrun/yurt/executor/oci"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
)

// maxOpenFiles is how many a process in a sandbox may have open, unless its limits
// say otherwise.
const maxOpenFiles = 4096

// admitExtras refuses limits that not every node has, and this one has not.
func (e *Executor) admitExtras(spec yurt.SandboxSpec) error {
	r := spec.Limits()
	if err := r.Validate("resources"); err != nil {
		return err
	}
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return fmt.Errorf("reading the node's limit of open files: %w", err)
	}
	if uint64(r.Ulimits.NoFile) > files.Max {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources.ulimits.nofile", "%d was asked for, the node's own processes have %d", r.Ulimits.NoFile, files.Max)
	}
	if err := e.admitDisk(r); err != nil {
		return err
	}
	if r.IOWeight != 0 {
		return e.cgroups.CheckIO()
	}
	return nil
}

// admitDisk refuses a workspace that the node has no room for. What it is held in has
// the last word all the same: several may be promised the same room.
func (e *Executor) admitDisk(r yurt.Resources) error {
	var err error
	switch r.DiskKind {
	case yurt.DiskImage:
		err = disk.Check()
	case yurt.DiskQuota:
		err = disk.CheckQuota(e.config.StateDir)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	free, err := disk.Free(e.config.StateDir)
	if err != nil {
		return err
	}
	if r.Disk > free {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources.disk", "%s was asked for, the node's disk has %s left", r.Disk, free)
	}
	return nil
}

// The names, in a sandbox's directory on disk, of what its workspace is held in.
const (
	imageFile = "workspace.img"
	quotaDir  = "workspace"
)

// makeDisk makes what the sandbox's workspace is held in, and returns its path; "" if
// that is memory.
func (s *sandbox) makeDisk(ctx context.Context) (string, error) {
	r, base := s.record.Spec.Limits(), s.record.IDBase
	if !r.OnDisk() {
		return "", nil
	}
	if err := os.MkdirAll(s.store, 0o700); err != nil {
		return "", fmt.Errorf("making the sandbox's directory: %w", err)
	}
	if r.DiskKind == yurt.DiskImage {
		path := filepath.Join(s.store, imageFile)
		return path, disk.Make(ctx, path, r.Disk, base+rootfs.UserID, base+rootfs.GroupID)
	}
	path := filepath.Join(s.store, quotaDir)
	projects := disk.Projects{First: base, Count: oci.IDRange} // as free as its ids are
	return path, disk.MakeDir(path, r.Disk, projects, base+rootfs.UserID, base+rootfs.GroupID)
}

// removeStore removes what a sandbox has on disk, also after a reboot, when nothing else is
// known of it.
func removeStore(store string) error {
	if err := disk.RemoveDir(filepath.Join(store, quotaDir)); err != nil {
		return err
	}
	return os.RemoveAll(store)
}

// ociSpec says what the sandbox is made of.
func (e *Executor) ociSpec(ctx context.Context, s *sandbox, root layout.Layout) (*specs.Spec, error) {
	spec := s.record.Spec
	uptime, err := oci.HostUptime()
	if err != nil {
		return nil, err
	}
	workspace, err := s.makeDisk(ctx)
	if err != nil {
		return nil, err
	}
	return oci.Spec(oci.Options{
		IDBase: s.record.IDBase, Layout: root,
		Disk: spec.Resources.Disk, Memory: spec.Resources.Memory,
		CgroupPath: e.cgroups.BirthPath(s.id), InitArgs: initArgs(spec),
		MaxFiles:  max(maxOpenFiles, uint64(spec.Limits().Ulimits.NoFile)),
		Workspace: workspace, AppArmor: e.config.AppArmorProfile, SELinux: e.config.SELinux.For(idrange.Number(s.record.IDBase)),
		Layered: spec.Template.Isolation.PerExecution, Hostname: hostnameOf(spec.Host), Uptime: uptime,
	}), nil
}

func initArgs(spec yurt.SandboxSpec) []string {
	args := []string{
		"-listen-fd=" + strconv.Itoa(launch.InitListenFD),
		"-filter-fd=" + strconv.Itoa(launch.InitFilterFD),
		"-homes-fd=" + strconv.Itoa(launch.InitHomesFD),
	}
	for _, path := range append(oci.Writable(), writableMounts(spec.Host)...) {
		args = append(args, "-write="+path)
	}
	for _, path := range deviceTargets(spec.Host) {
		args = append(args, "-device="+path)
	}
	ulimits := spec.Limits().Ulimits
	for _, l := range []struct {
		resource int
		value    int64
	}{{unix.RLIMIT_NOFILE, int64(ulimits.NoFile)}, {unix.RLIMIT_FSIZE, int64(ulimits.FSize)}, {unix.RLIMIT_STACK, int64(ulimits.Stack)}} {
		if l.value != 0 {
			args = append(args, fmt.Sprintf("-limit=%d=%d", l.resource, l.value))
		}
	}
	if spec.Template.Isolation.PerExecution {
		args = append(args, "-layer")
		for path, options := range oci.OwnOptions(spec.Resources.Disk, spec.Resources.Memory) {
			args = append(args, "-own="+path+"="+options)
		}
	}
	return args
}
