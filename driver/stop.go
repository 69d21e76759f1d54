package driver

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api"
)

const (
	defaultSignal = "SIGTERM" // of a task that names no kill_signal
	nullSignal    = "SIGNULL"
)

// StopTask implements the service: a signal first, and the end when the time is up.
func (s *driverServer) StopTask(ctx context.Context, req *drivers.StopTaskRequest) (*drivers.StopTaskResponse, error) {
	t, err := s.driver.find(req.GetTaskId())
	if err != nil {
		return nil, err
	}
	if err := t.stop(ctx, s.driver.logger, req.GetSignal(), req.GetTimeout().AsDuration()); err != nil {
		return nil, wire(err)
	}
	return &drivers.StopTaskResponse{}, nil
}

// stop ends the task, gently for as long as grace lasts. The task does not outlive its grace, even if the first signal fails.
func (t *task) stop(ctx context.Context, logger *slog.Logger, name string, grace time.Duration) error {
	if t.handle.Slot != "" {
		return t.closeSlot(ctx)
	}
	gentle, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if err := t.ask(gentle, name); err != nil && ctx.Err() == nil {
		logger.Warn("the signal to end a task was not sent; the task is killed when its kill_timeout is over", "task_id", t.id, "signal", name, "error", err)
	}
	if _, err := t.wait(gentle); err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	if err := t.signal(ctx, yurt.SignalKill); err != nil {
		return err
	}
	_, err := t.wait(ctx)
	return err
}

// ask sends the signal by which the task is to end. SIGNULL is Nomad's name for no signal.
func (t *task) ask(ctx context.Context, name string) error {
	if name == nullSignal {
		return nil
	}
	signal, err := yurt.ParseSignal("kill_signal", cmp.Or(name, defaultSignal))
	if err != nil {
		return err
	}
	return t.signal(ctx, signal)
}

// signal sends a signal to the first process of the task, and [yurt.SignalKill] to all. That
// the task has ended is no error.
func (t *task) signal(ctx context.Context, signal yurt.Signal) error {
	if t.handle.Slot != "" {
		return yurt.Errorf(yurt.CodeForbidden, "the task is a slot, and what runs in it belongs to the session that claimed it; use yurt session")
	}
	err := t.node.Call(ctx, func(c *api.Client) error {
		return c.SignalMain(ctx, t.handle.Sandbox, t.handle.Execution, signal)
	})
	if gone(err) || yurt.CodeOf(err) == yurt.CodeExecutionEnded {
		return nil
	}
	return err
}

// SignalTask implements the service.
func (s *driverServer) SignalTask(ctx context.Context, req *drivers.SignalTaskRequest) (*drivers.SignalTaskResponse, error) {
	t, err := s.driver.find(req.GetTaskId())
	if err != nil {
		return nil, err
	}
	signal, err := yurt.ParseSignal("signal", req.GetSignal())
	if err != nil {
		return nil, wire(err)
	}
	return &drivers.SignalTaskResponse{}, wire(t.signal(ctx, signal))
}

// DestroyTask implements the service. An unknown task counts as destroyed.
func (s *driverServer) DestroyTask(ctx context.Context, req *drivers.DestroyTaskRequest) (*drivers.DestroyTaskResponse, error) {
	d := s.driver
	t, err := d.find(req.GetTaskId())
	if err != nil {
		return &drivers.DestroyTaskResponse{}, nil //nolint:nilerr // as documented
	}
	if !req.GetForce() && t.running(ctx) {
		return nil, wire(yurt.Errorf(yurt.CodeExecutionRunning, "the task still runs; stop it first, or destroy it with force"))
	}
	if err := t.destroy(ctx); err != nil {
		return nil, wire(err)
	}
	d.remove(t.id)
	return &drivers.DestroyTaskResponse{}, nil
}

// running asks whether the task goes on. It may have ended without a waiter.
func (t *task) running(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	_, err := t.wait(ctx)
	return err != nil
}

// lookLimit is how long it takes at most to hear that a task has ended.
const lookLimit = 100 * time.Millisecond

// destroy removes all that there is of the task.
func (t *task) destroy(ctx context.Context) error {
	if t.handle.Slot != "" {
		return t.closeSlot(ctx)
	}
	err := t.node.Call(ctx, func(c *api.Client) error { return c.DestroySandbox(ctx, t.handle.Sandbox) })
	if gone(err) {
		return nil
	}
	return err
}
