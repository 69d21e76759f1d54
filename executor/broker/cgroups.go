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
	Limit(sandboxID string, limits Limits) error
	// Freeze returns once no process of any run gets CPU time. No run may be started before Thaw. When it fails or ctx ends, some
	// may be frozen.
	Freeze(ctx context.Context, sandboxID string) error
	// Thaw lets all runs go on. It has no effect on runs that are not frozen.
	Thaw(sandboxID string) error
	// End ends every process of the sandbox, init included, and removes its cgroup. A missing one is no error. It also ends stray
	// cgroups, which have other names than sandboxes.
	End(ctx context.Context, sandboxID string) error
}

// Limit implements [Cgroups].
func (l *Local) Limit(sandboxID string, limits Limits) error {
	if err := l.Cgroups.CheckLimits(limits); err != nil {
		return err
	}
	s, err := l.sandbox(sandboxID)
	if err != nil {
		return err
	}
	return s.group.Limit(limits)
}

// Freeze implements [Cgroups].
func (l *Local) Freeze(ctx context.Context, sandboxID string) error {
	s, err := l.sandbox(sandboxID)
	if err != nil {
		return err
	}
	return s.group.Freeze(ctx)
}

// Thaw implements [Cgroups].
func (l *Local) Thaw(sandboxID string) error {
	s, err := l.sandbox(sandboxID)
	if err != nil {
		return err
	}
	return s.group.Thaw()
}

// End implements [Cgroups].
func (l *Local) End(ctx context.Context, sandboxID string) error {
	if err := cgroup.CheckName(sandboxID); err != nil {
		return err
	}
	if err := l.Cgroups.Open(sandboxID).Destroy(ctx); err != nil {
		return err
	}
	l.list.drop(sandboxID)
	return nil
}

// checkMemory refuses file systems and a view of memory that are larger than the limit in force, which [Cgroups.Limit] has set.
func (l *Local) checkMemory(sandboxID string, memory yurt.Size) error {
	if _, err := l.sandbox(sandboxID); err != nil {
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
