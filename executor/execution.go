package executor

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/run"
)

// Stdio are descriptors that an execution gets as they are; see [run.Stdio] for which ones are safe.
type Stdio = run.Stdio

// StartExecution begins an execution and returns once it runs, or has failed to,
// which its result then says. It goes on when the caller leaves. Errors are about
// the request or the node; a failure of the user's code is never one.
func (e *Executor) StartExecution(ctx context.Context, sandboxID string, spec yurt.ExecutionSpec) error {
	return e.Dispatch(ctx, sandboxID, spec, run.Stdio{})
}

// RunExecution is StartExecution that returns the call which waits for the result.
func (e *Executor) RunExecution(ctx context.Context, sandboxID string, spec yurt.ExecutionSpec) (result func(context.Context) (*yurt.Result, error), err error) {
	return func(ctx context.Context) (*yurt.Result, error) { return e.AwaitExecution(ctx, sandboxID, spec.ID) },
		e.StartExecution(ctx, sandboxID, spec)
}

// StartAttached is StartExecution with descriptors of the caller's own, which stay the
// caller's to close, and may be closed as soon as it returns. Data in them does not pass through the node: it is neither
// counted, limited nor kept, and is not in the result.
func (e *Executor) StartAttached(ctx context.Context, sandboxID string, spec yurt.ExecutionSpec, stdio Stdio) error {
	if err := stdio.Check(spec); err != nil {
		return err
	}
	return e.Dispatch(ctx, sandboxID, spec, stdio)
}

// WatchExecution calls each with every event after seq, in order, until the ended
// event, ctx is done or each returns an error. Any number may watch, but only one an
// execution that is streamed.
func (e *Executor) WatchExecution(ctx context.Context, sandboxID, executionID string, after uint64, each func(yurt.Event) error) error {
	defer e.processors.Hold()()
	_, r, err := findRun(ctx, e.Node, sandboxID, executionID)
	if err != nil {
		return err
	}
	return e.Runs().Watch(ctx, r, after, each)
}

// WaitExecution returns the result once the execution has ended, with all of its output in it.
func (e *Executor) WaitExecution(ctx context.Context, sandboxID, executionID string) (*yurt.Result, error) {
	result, err := e.AwaitExecution(ctx, sandboxID, executionID)
	if err != nil {
		return nil, err
	}
	return result.Whole(ctx)
}

// AwaitExecution returns the result once the execution has ended. Large output is apart from it, and stays
// readable for a while when the sandbox is destroyed.
func (e *Executor) AwaitExecution(ctx context.Context, sandboxID, executionID string) (*yurt.Result, error) {
	defer e.processors.Hold()()
	_, r, err := findRun(ctx, e.Node, sandboxID, executionID)
	if err != nil {
		return nil, err
	}
	return e.Runs().Wait(ctx, r)
}

// ForgetExecution releases the log and the result of an ended execution. One that is
// not known is no error.
func (e *Executor) ForgetExecution(ctx context.Context, sandboxID, executionID string) error {
	_, r, err := findRun(ctx, e.Node, sandboxID, executionID)
	switch yurt.CodeOf(err) {
	case "":
	case yurt.CodeExecutionNotFound, yurt.CodeSandboxNotFound:
		return nil
	default:
		return err
	}
	return r.Forget()
}
