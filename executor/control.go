package executor

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/node"
	"github.com/yurtrun/yurt/executor/run"
)

// WriteStdin gives an execution that was started with an open stdin, or with a
// terminal, data to read, and after it the end of its stdin if eof is set. It waits
// while the execution does not read; when ctx ends first, a part may have been taken.
func (e *Executor) WriteStdin(ctx context.Context, sandboxID, executionID string, data []byte, eof bool) error {
	_, r, err := e.findRunning(ctx, sandboxID, executionID)
	if err != nil {
		return err
	}
	return r.WriteStdin(ctx, data, eof)
}

// SignalExecution sends a signal to the first process of an execution and its process
// group; [yurt.SignalKill] ends every process of the execution, whatever its group. In a
// context the process is the interpreter, which survives an interrupt; an execution that waits for
// its turn is cancelled.
func (e *Executor) SignalExecution(ctx context.Context, sandboxID, executionID string, signal yurt.Signal) error {
	return e.signalExecution(ctx, sandboxID, executionID, signal, false)
}

// SignalMain is SignalExecution for the first process alone, without the rest of its group:
// a program that handles SIGHUP keeps its children then. [yurt.SignalKill] still ends every
// process of the execution.
func (e *Executor) SignalMain(ctx context.Context, sandboxID, executionID string, signal yurt.Signal) error {
	return e.signalExecution(ctx, sandboxID, executionID, signal, true)
}

func (e *Executor) signalExecution(ctx context.Context, sandboxID, executionID string, signal yurt.Signal, alone bool) error {
	if err := signal.Validate("signal"); err != nil {
		return err
	}
	s, r, err := e.findRunning(ctx, sandboxID, executionID)
	if err != nil {
		return err
	}
	if r.CancelWait() {
		return nil
	}
	if r.Record.Cell != nil {
		return r.ControlError(s.SignalCell(r, signal))
	}
	return e.Runs().Signal(ctx, r, signal, alone)
}

// ResizeExecution gives the terminal of an execution another size.
func (e *Executor) ResizeExecution(ctx context.Context, sandboxID, executionID string, size yurt.TerminalSize) error {
	if err := size.Validate("tty"); err != nil {
		return err
	}
	_, r, err := e.findRunning(ctx, sandboxID, executionID)
	if err != nil {
		return err
	}
	return r.Resize(ctx, size)
}

// findRunning returns an execution that has not ended, and its sandbox.
func (e *Executor) findRunning(ctx context.Context, sandboxID, executionID string) (*node.Handle, *run.Run, error) {
	s, r, err := findRun(ctx, e.Node, sandboxID, executionID)
	if err == nil && r.HasEnded() {
		err = run.ErrEnded(executionID)
	}
	return s, r, err
}
