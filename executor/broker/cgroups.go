package broker

import (
	"context"

	"github.com/yurtrun/yurt/executor/cgroup"
)

// Cgroups is the requests that change the cgroup of a whole sandbox. Each names the sandbox by its id, and the broker finds the cgroup
// itself. A request for a sandbox without a cgroup fails with [yurt.CodeSandboxNotFound], except for End.
type Cgroups interface {
	// Freeze returns once no process of any run gets CPU time. No run may be started before Thaw. When it fails or ctx ends, some
	// may be frozen.
	Freeze(ctx context.Context, sandboxID string) error
	// Thaw lets all runs go on. It has no effect on runs that are not frozen.
	Thaw(sandboxID string) error
	// End ends every process of the sandbox, init included, and removes its cgroup. A missing one is no error. It also ends stray
	// cgroups, which have other names than sandboxes.
	End(ctx context.Context, sandboxID string) error
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
	l.ranges.free(sandboxID)
	return nil
}
