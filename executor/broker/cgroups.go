package broker

import (
	"context"
	"fmt"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/cgroup"
)

// Cgroups is the requests that change the cgroup of a whole sandbox. Each names the sandbox by its id, and the broker finds the cgroup
// itself. A request for a sandbox without a cgroup fails with [yurt.CodeSandboxNotFound], except for End.
type Cgroups interface {
	// Limit replaces the limits of a sandbox that has not run user code yet. They are within the bounds of all sandboxes together.
	Limit(sandboxID string, limits cgroup.Limits) error
	// Freeze returns once no process of any run gets CPU time. No run may be started before Thaw. When it fails or ctx ends, some
	// may be frozen.
	Freeze(ctx context.Context, sandboxID string) error
	// Thaw lets all runs go on. It has no effect on runs that are not frozen.
	Thaw(sandboxID string) error
	// End ends every process of the sandbox, init included, and removes its cgroup. A missing one is no error. It also ends stray
	// cgroups, which have other names than sandboxes.
	End(ctx context.Context, sandboxID string) error
}

// RunGroups is the cgroups of the runs of one sandbox.
type RunGroups interface {
	cgroup.Gauge
	cgroup.Leaves
}

// Runs implements [Broker].
func (l *Local) Runs(sandboxID string) (RunGroups, error) {
	if err := cgroup.CheckName(sandboxID); err != nil {
		return nil, err
	}
	return l.Cgroups.Open(sandboxID), nil
}

// Limit implements [Cgroups].
func (l *Local) Limit(sandboxID string, limits cgroup.Limits) error {
	if err := l.Cgroups.CheckLimits(limits); err != nil {
		return err
	}
	group, err := l.group(sandboxID)
	if err != nil {
		return err
	}
	return group.Limit(limits)
}

// Freeze implements [Cgroups].
func (l *Local) Freeze(ctx context.Context, sandboxID string) error {
	group, err := l.group(sandboxID)
	if err != nil {
		return err
	}
	return group.Freeze(ctx)
}

// Thaw implements [Cgroups].
func (l *Local) Thaw(sandboxID string) error {
	group, err := l.group(sandboxID)
	if err != nil {
		return err
	}
	return group.Thaw()
}

// End implements [Cgroups].
func (l *Local) End(ctx context.Context, sandboxID string) error {
	if err := cgroup.CheckName(sandboxID); err != nil {
		return err
	}
	return l.Cgroups.Open(sandboxID).Destroy(ctx)
}

// group finds the cgroup of a sandbox, which this broker or one before it has made.
func (l *Local) group(sandboxID string) (cgroup.Group, error) {
	if !yurt.ValidID(yurt.SandboxIDPrefix, sandboxID) {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "sandbox_id", "%q is no id of a sandbox; an id begins with %q", sandboxID, yurt.SandboxIDPrefix)
	}
	there, err := l.Cgroups.Has(sandboxID)
	if err != nil {
		return nil, fmt.Errorf("finding the cgroup of sandbox %s: %w", sandboxID, err)
	}
	if !there {
		return nil, yurt.Errorf(yurt.CodeSandboxNotFound, "sandbox %s has no cgroup on this node", sandboxID)
	}
	return l.Cgroups.Open(sandboxID), nil
}

// checkMemory refuses file systems and a view of memory that are larger than the limit in force, which [Cgroups.Limit] has set.
func (l *Local) checkMemory(sandboxID string, memory yurt.Size) error {
	if _, err := l.group(sandboxID); err != nil {
		return err
	}
	granted, err := l.Cgroups.MemoryLimit(sandboxID)
	if err != nil {
		return fmt.Errorf("reading the limit of sandbox %s: %w", sandboxID, err)
	}
	if int64(memory) <= 0 || int64(memory) >= granted+pageSize {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources.memory", "%s is beyond the %s that sandbox %s was granted; raise its limit first", memory, yurt.Size(granted), sandboxID)
	}
	return nil
}

// pageSize is the most by which the kernel rounds a limit of memory down.
const pageSize = 64 << 10
