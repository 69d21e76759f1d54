package run

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// WriteStdin gives the execution data to read, and the end of its stdin if eof is set.
func (r *Run) WriteStdin(ctx context.Context, data []byte, eof bool) error {
	if r.Record.Cell != nil {
		return yurt.Errorf(yurt.CodeStdinClosed, "execution %s runs in a context and has all of its stdin; give it with the request", r.Record.ID)
	}
	if len(data) == 0 && !eof {
		return nil
	}
	if r.CancelInstall.Load() != nil {
		return yurt.Errorf(yurt.CodeUnavailable, "execution %s waits for its packages and reads nothing yet; try again in a moment", r.Record.ID)
	}
	return r.write(ctx, data, eof)
}

// write admits one caller at a time, so that the data of two callers does not mix.
func (r *Run) write(ctx context.Context, data []byte, eof bool) error {
	select {
	case r.writing <- struct{}{}:
		defer func() { <-r.writing }()
	case <-ctx.Done():
		return ctx.Err()
	case <-r.done:
		return ErrEnded(r.Record.ID)
	}
	return r.input(ctx, data, eof)
}

// inputGrace is how long the answer to a write is waited for when the run has ended. The write
// itself may end the run, and then the answer is on its way. But a process that the run has left
// behind may hold the pipe open without reading it, and then the answer never comes.
const inputGrace = time.Second

// input has yurt-init write to the run's stdin.
func (r *Run) input(ctx context.Context, data []byte, eof bool) error {
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
	err := r.Sandbox.Init.Input(ctx, r.Record.ID, data, eof)
	if err != nil && r.HasEnded() {
		return ErrEnded(r.Record.ID)
	}
	return r.ControlError(err)
}

// Signal sends a signal to an execution that is a process of its own; alone is for the first process
// without its group.
func (e *Engine) Signal(ctx context.Context, r *Run, signal yurt.Signal, alone bool) error {
	if signal == yurt.SignalKill {
		e.kill(r)
		return nil
	}
	send := r.Sandbox.Init.Signal
	if alone {
		send = r.Sandbox.Init.SignalAlone
	}
	return r.ask(ctx, func(ctx context.Context) error { return send(ctx, r.Record.ID, syscall.Signal(signal)) })
}

// CancelWait ends the wait of the execution for its packages. It reports whether there was one.
func (r *Run) CancelWait() bool {
	cancel := r.CancelInstall.Load()
	if cancel != nil {
		(*cancel)()
	}
	return cancel != nil
}

// Resize gives the terminal of the execution another size.
func (r *Run) Resize(ctx context.Context, size yurt.TerminalSize) error {
	return r.ask(ctx, func(ctx context.Context) error {
		return r.Sandbox.Init.Resize(ctx, r.Record.ID, initd.WindowSize(size))
	})
}

// ask sends yurt-init a request that it answers at once, and fails after InitTimeout.
func (r *Run) ask(ctx context.Context, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, sandbox.InitTimeout)
	defer cancel()
	err := do(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return yurt.Errorf(yurt.CodeSandboxFailed, "controlling execution %s: the sandbox did not answer within %s", r.Record.ID, sandbox.InitTimeout)
	}
	return r.ControlError(err)
}

// HasEnded reports whether the result is there.
func (r *Run) HasEnded() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// ErrEnded is the error of a request that an execution has to run for.
func ErrEnded(executionID string) error {
	return yurt.Errorf(yurt.CodeExecutionEnded, "execution %s has ended", executionID)
}

// ControlError gives a refusal of yurt-init the error code of its reason.
func (r *Run) ControlError(err error) error {
	failure := new(initd.Failure)
	if !errors.As(err, &failure) {
		return err
	}
	switch failure.Reason {
	case initd.ReasonNotFound:
		return ErrEnded(r.Record.ID) // and its result is on the way
	case initd.ReasonNoStdin:
		return yurt.Errorf(yurt.CodeStdinClosed, "execution %s cannot be written to: %s; start it with \"stdin_open\" or \"tty\"", r.Record.ID, failure.Message)
	case initd.ReasonNoTerminal:
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "tty", "execution %s has no terminal; start it with \"tty\"", r.Record.ID)
	default:
		return yurt.Errorf(yurt.CodeSandboxFailed, "controlling execution %s: %w", r.Record.ID, err)
	}
}
