package node

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/budget"
	"github.com/yurtrun/yurt/executor/disk"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// admitter refuses sandboxes that this host cannot make.
type admitter struct {
	stateDir string
	cgroups  Cgroups
	all      budget.Bounds
}

// admit refuses a sandbox that no node of this version, or not this host, can make.
func (a *admitter) admit(spec yurt.SandboxSpec) error {
	if !yurt.ValidID(yurt.SandboxIDPrefix, spec.ID) {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "id", "%q is not a sandbox id", spec.ID)
	}
	if level := spec.Template.Isolation.Level; level != yurt.IsolationNamespaces {
		return yurt.FieldErrorf(yurt.CodeNotSupported, "isolation.level", "this node cannot isolate at level %q; it knows %q", level, yurt.IsolationNamespaces)
	}
	if mode := spec.Template.Network.Mode; mode != yurt.NetworkNone {
		return yurt.FieldErrorf(yurt.CodeNotSupported, "network.mode", "this node has no network mode %q; it knows %q", mode, yurt.NetworkNone)
	}
	if err := spec.Host.Validate("host"); err != nil {
		return err
	}
	if err := a.admitBound(spec); err != nil {
		return err
	}
	return a.admitExtras(spec)
}

// admitBound refuses files and resources that no sandbox of this host can have, new or ready.
func (a *admitter) admitBound(spec yurt.SandboxSpec) error {
	if err := yurt.ValidateFiles(sandbox.FilesField, spec.Files); err != nil {
		return err
	}
	return a.admitResources(spec)
}

// admitResources refuses limits above the resources that this host has for sandboxes, since such a limit would limit no process.
func (a *admitter) admitResources(spec yurt.SandboxSpec) error {
	r := spec.Resources
	if err := r.Validate("resources"); err != nil {
		return err
	}
	if r.CPU == 0 || r.Memory == 0 || r.Disk == 0 || r.PIDs == 0 {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "resources", "a sandbox needs a limit for each of cpu, memory, disk and pids")
	}
	if r.CPU > float64(runtime.NumCPU()) {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources.cpu", "%v cores were asked for, the node has %d", r.CPU, runtime.NumCPU())
	}
	return a.all.Admit(spec.Limits())
}

// admitExtras refuses limits that only some nodes can hold, if this one cannot.
func (a *admitter) admitExtras(spec yurt.SandboxSpec) error {
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
	if err := a.admitDisk(r); err != nil {
		return err
	}
	if r.IOWeight != 0 {
		return a.cgroups.CheckIO()
	}
	return nil
}

// admitDisk refuses a workspace that is larger than the free space of the node. The disk can still be full later: several
// sandboxes may be promised the same space.
func (a *admitter) admitDisk(r yurt.Resources) error {
	var err error
	switch r.DiskKind {
	case yurt.DiskImage:
		err = disk.Check()
	case yurt.DiskQuota:
		err = disk.CheckQuota(a.stateDir)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	free, err := disk.Free(a.stateDir)
	if err != nil {
		return err
	}
	if r.Disk > free {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources.disk", "%s was asked for, the node's disk has %s left", r.Disk, free)
	}
	return nil
}
