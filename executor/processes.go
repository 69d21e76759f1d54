package executor

import (
	"context"

	"github.com/yurtrun/yurt"
)

// Processes lists the processes of the sandbox without its init, by number: the
// processes of executions, and those that outlived theirs.
func (e *Executor) Processes(ctx context.Context, sandboxID string) ([]yurt.Process, error) {
	s, err := e.FindUsable(ctx, sandboxID)
	if err != nil {
		return nil, err
	}
	return s.Processes()
}

// SignalProcess sends a signal to one process of an execution, by its number inside
// the sandbox.
func (e *Executor) SignalProcess(ctx context.Context, sandboxID string, pid int, signal yurt.Signal) error {
	if err := signal.Validate("signal"); err != nil {
		return err
	}
	s, err := e.FindUsable(ctx, sandboxID)
	if err != nil {
		return err
	}
	return s.SignalProcess(pid, signal)
}
