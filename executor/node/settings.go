package node

import (
	"context"
	"fmt"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/disk"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/executor/oci"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// admitExtras refuses limits that not every node has, and this one has not.
func (n *Node) admitExtras(spec yurt.SandboxSpec) error {
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
	if err := n.admitDisk(r); err != nil {
		return err
	}
	if r.IOWeight != 0 {
		return n.cgroups.CheckIO()
	}
	return nil
}

// admitDisk refuses a workspace that the node has no room for. What it is held in has
// the last word all the same: several may be promised the same room.
func (n *Node) admitDisk(r yurt.Resources) error {
	var err error
	switch r.DiskKind {
	case yurt.DiskImage:
		err = disk.Check()
	case yurt.DiskQuota:
		err = disk.CheckQuota(n.config.StateDir)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	free, err := disk.Free(n.config.StateDir)
	if err != nil {
		return err
	}
	if r.Disk > free {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources.disk", "%s was asked for, the node's disk has %s left", r.Disk, free)
	}
	return nil
}

// ociSpec says what the sandbox is made of.
func (n *Node) ociSpec(ctx context.Context, s *Handle, root layout.Layout) (*specs.Spec, error) {
	spec := s.Record.Spec
	uptime, err := oci.HostUptime()
	if err != nil {
		return nil, err
	}
	workspace, err := s.MakeDisk(ctx)
	if err != nil {
		return nil, err
	}
	return oci.Spec(oci.Options{
		IDBase: s.Record.IDBase, Layout: root,
		Disk: spec.Resources.Disk, Memory: spec.Resources.Memory,
		CgroupPath: n.cgroups.BirthPath(s.ID()), InitArgs: sandbox.InitArgs(spec),
		MaxFiles:  max(sandbox.MaxOpenFiles, uint64(spec.Limits().Ulimits.NoFile)),
		Workspace: workspace, AppArmor: n.config.AppArmorProfile, SELinux: n.config.SELinux.For(idrange.Number(s.Record.IDBase)),
		Layered: spec.Template.Isolation.PerExecution, Hostname: sandbox.HostnameOf(spec.Host), Uptime: uptime,
	}), nil
}
