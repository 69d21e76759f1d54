package executor

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// WriteStdin gives an execution that was started with an open stdin, or with a
// terminal, data to read, and after it the end of its stdin if eof is set. It waits
// while the execution does not read; when ctx ends first, a part may have been taken.
func (e *Executor) WriteStdin(ctx context.Context, sandboxID, executionID string, data []byte, eof bool) error {
	r, err := e.findRunning(ctx, sandboxID, executionID)
	if err != nil {
		return err
	}
	if r.record.Cell != nil {
		return yurt.Errorf(yurt.CodeStdinClosed, "execution %s runs in a context and has all of its stdin; give it with the request", executionID)
	}
	if len(data) == 0 && !eof {
		return nil
	}
	if r.cancel.Load() != nil {
		return yurt.Errorf(yurt.CodeUnavailable, "execution %s waits for its packages and reads nothing yet; try again in a moment", executionID)
	}
	return r.write(ctx, data, eof)
}

// write is for one caller at a time, so that what two of them write does not mix.
func (r *run) write(ctx context.Context, data []byte, eof bool) error {
	select {
	case r.writing <- struct{}{}:
		defer func() { <-r.writing }()
	case <-ctx.Done():
		return ctx.Err()
	case <-r.done:
		return hasEnded(r.record.ID)
	}
	return r.input(ctx, data, eof)
}

// inputGrace is how long the answer to a write is waited for when the run has ended. What is
// written may be what ends it, and then the answer is on its way; but nobody may read from a pipe
// that something which the run has left behind holds open.
const inputGrace = time.Second

// input has yurt-init write to the run's stdin.
func (r *run) input(ctx context.Context, data []byte, eof bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-r.done:
			defer time.AfterFunc(inputGrace, cancel).Stop()
			<-ctx.Done()
		case <-ctx.Done():
		}
	}()
	err := r.sandbox.Init.Input(ctx, r.record.ID, data, eof)
	if err != nil && r.ended() {
		return hasEnded(r.record.ID)
	}
	return r.controlError(err)
}

// SignalExecution sends a signal to the first process of an execution and its process
// group; [yurt.SignalKill] ends every process of the execution, whatever its group. In a
// context the process is the interpreter, which survives an interrupt; what waits for
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
	r, err := e.findRunning(ctx, sandboxID, executionID)
	if err != nil {
		return err
	}
	if cancel := r.cancel.Load(); cancel != nil {
		(*cancel)()
		return nil
	}
	if r.record.Cell != nil {
		return r.controlError(r.sandbox.signalCell(r, signal))
	}
	if signal == yurt.SignalKill {
		e.kill(r)
		return nil
	}
	send := r.sandbox.Init.Signal
	if alone {
		send = r.sandbox.Init.SignalAlone
	}
	return r.ask(ctx, func(ctx context.Context) error { return send(ctx, executionID, syscall.Signal(signal)) })
}

// ResizeExecution gives the terminal of an execution another size.
func (e *Executor) ResizeExecution(ctx context.Context, sandboxID, executionID string, size yurt.TerminalSize) error {
	if err := size.Validate("tty"); err != nil {
		return err
	}
	r, err := e.findRunning(ctx, sandboxID, executionID)
	if err != nil {
		return err
	}
	return r.ask(ctx, func(ctx context.Context) error {
		return r.sandbox.Init.Resize(ctx, executionID, initd.WindowSize(size))
	})
}

// ask asks yurt-init for what it does at once, which it must have answered soon.
func (r *run) ask(ctx context.Context, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, sandbox.InitTimeout)
	defer cancel()
	err := do(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return yurt.Errorf(yurt.CodeSandboxFailed, "controlling execution %s: the sandbox did not answer within %s", r.record.ID, sandbox.InitTimeout)
	}
	return r.controlError(err)
}

// findRunning returns an execution that has not ended.
func (e *Executor) findRunning(ctx context.Context, sandboxID, executionID string) (*run, error) {
	r, err := e.findRun(ctx, sandboxID, executionID)
	if err != nil {
		return nil, err
	}
	if r.ended() {
		return nil, hasEnded(executionID)
	}
	return r, nil
}

// ended reports whether the result is there.
func (r *run) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

func hasEnded(executionID string) error {
	return yurt.Errorf(yurt.CodeExecutionEnded, "execution %s has ended", executionID)
}

// controlError gives what yurt-init refused the code that says so.
func (r *run) controlError(err error) error {
	failure := new(initd.Failure)
	if !errors.As(err, &failure) {
		return err
	}
	switch failure.Reason {
	case initd.ReasonNotFound:
		return hasEnded(r.record.ID) // and its result is on the way
	case initd.ReasonNoStdin:
		return yurt.Errorf(yurt.CodeStdinClosed, "execution %s cannot be written to: %s; start it with \"stdin_open\" or \"tty\"", r.record.ID, failure.Message)
	case initd.ReasonNoTerminal:
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "tty", "execution %s has no terminal; start it with \"tty\"", r.record.ID)
	default:
		return yurt.Errorf(yurt.CodeSandboxFailed, "controlling execution %s: %w", r.record.ID, err)
	}
}
