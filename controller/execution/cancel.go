package execution

import (
	"context"
	"syscall"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/life"
)

const (
	// DefaultCancelGrace is how long an execution has to end after the interrupt.
	DefaultCancelGrace = 5 * time.Second
	// killGrace is how long the result of a killed execution may be on its way.
	killGrace = 10 * time.Second
)

// CancelExecution interrupts an execution, kills it when it has not ended after a grace period, and
// returns its record with its result. It goes on when the caller leaves. Several may cancel at once.
// One that has ended before is a [yurt.CodeExecutionEnded] error.
func (r *Runner) CancelExecution(ctx context.Context, sessionID, executionID string) (yurt.Execution, error) {
	session, node, err := r.running(ctx, sessionID, executionID)
	if err != nil {
		return yurt.Execution{}, err
	}
	if session.State == yurt.SessionPaused {
		return yurt.Execution{}, yurt.Errorf(yurt.CodeIllegalTransition, "session %s is paused, so that nothing in it can end; resume it first, or end the session", session.ID)
	}
	work, cancel := life.Detached(ctx, r.cancelGrace+killGrace+startLimit)
	defer cancel()
	ended, err := r.endBySignal(work, session, node, executionID, yurt.Signal(syscall.SIGINT), r.cancelGrace)
	if err != nil || ended.State.Ended() {
		return ended, err
	}
	ended, err = r.endBySignal(work, session, node, executionID, yurt.SignalKill, killGrace)
	if yurt.CodeOf(err) == yurt.CodeExecutionEnded { // meanwhile
		return r.WaitExecution(work, sessionID, executionID)
	}
	if err == nil && !ended.State.Ended() {
		err = yurt.Errorf(yurt.CodeUnavailable, "execution %s was killed, and its node has not told its result within %s; ask for it later", executionID, killGrace)
	}
	return ended, err
}

// CallerLeft interrupts an execution in the background, as [Runner.CancelExecution] does: the
// client that waited for it asked for that, and its connection has ended.
func (r *Runner) CallerLeft(e yurt.Execution) {
	r.life.Background(func(ctx context.Context) { // a controller that shuts down interrupts no execution
		_, err := r.CancelExecution(ctx, e.SessionID, e.ID)
		if code := yurt.CodeOf(err); err != nil && code != yurt.CodeExecutionEnded && code != yurt.CodeSessionEnded {
			r.life.Log.Warn("an execution whose client has gone was not interrupted", "session", e.SessionID, "execution", e.ID, "error", err)
		}
	})
}

// endBySignal sends a signal to an execution and waits for its end for so long. The record that it
// returns has not ended when that was too short.
func (r *Runner) endBySignal(ctx context.Context, session yurt.Session, node contract.Node, executionID string, signal yurt.Signal, patience time.Duration) (yurt.Execution, error) {
	if err := node.SignalExecution(ctx, session.SandboxID, executionID, signal); err != nil {
		return yurt.Execution{}, err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ended, err := r.WaitExecution(waiting, session.ID, executionID)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return yurt.Execution{}, nil
	}
	return ended, err
}
