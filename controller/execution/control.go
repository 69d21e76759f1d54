package execution

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

// WriteStdin gives an execution that was started with an open stdin, or with a
// terminal, data to read, and after it the end of its stdin if eof is set. It waits
// while the execution does not read; when ctx ends first, a part may have been taken.
func (r *Runner) WriteStdin(ctx context.Context, sessionID, executionID string, data []byte, eof bool) (err error) {
	defer r.reach.SayEnded(ctx, sessionID, &err)
	if len(data) > yurt.MaxStdinBytes {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "data", "%d bytes are too many; at most %d are allowed at once", len(data), yurt.MaxStdinBytes)
	}
	session, node, err := r.running(ctx, sessionID, executionID)
	if err != nil {
		return err
	}
	return node.WriteStdin(ctx, session.SandboxID, executionID, data, eof)
}

// SignalExecution sends a signal to the first process of an execution and its process group; [yurt.SignalKill] ends every
// process of the execution in any group.
func (r *Runner) SignalExecution(ctx context.Context, sessionID, executionID string, signal yurt.Signal) (err error) {
	defer r.reach.SayEnded(ctx, sessionID, &err)
	if err := signal.Validate("signal"); err != nil {
		return err
	}
	session, node, err := r.running(ctx, sessionID, executionID)
	if err != nil {
		return err
	}
	return node.SignalExecution(ctx, session.SandboxID, executionID, signal)
}

// ResizeExecution gives the terminal of an execution another size.
func (r *Runner) ResizeExecution(ctx context.Context, sessionID, executionID string, size yurt.TerminalSize) (err error) {
	defer r.reach.SayEnded(ctx, sessionID, &err)
	if err := size.Validate("tty"); err != nil {
		return err
	}
	session, node, err := r.running(ctx, sessionID, executionID)
	if err != nil {
		return err
	}
	return node.ResizeExecution(ctx, session.SandboxID, executionID, size)
}

// running returns the session and the node of an execution that has not ended.
func (r *Runner) running(ctx context.Context, sessionID, executionID string) (yurt.Session, contract.Node, error) {
	record, err := r.Execution(ctx, sessionID, executionID)
	if err != nil {
		return yurt.Session{}, nil, err
	}
	if record.State.Ended() {
		return yurt.Session{}, nil, yurt.Errorf(yurt.CodeExecutionEnded, "execution %s has ended", record.ID)
	}
	session, err := r.reach.Session(ctx, sessionID)
	if err != nil {
		return yurt.Session{}, nil, err
	}
	node, err := r.reach.Node(ctx, session)
	if err != nil {
		return yurt.Session{}, nil, err
	}
	return session, node, nil
}
