package driver

import (
	"context"
	"time"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api"
)

// ExecTask implements the service: a command beside the task, such as the script of a
// check, with its output when it has ended.
func (s *driverServer) ExecTask(ctx context.Context, req *drivers.ExecTaskRequest) (*drivers.ExecTaskResponse, error) {
	t, err := s.driver.find(req.GetTaskId())
	if err != nil {
		return nil, err
	}
	spec, err := t.command(req.GetCommand())
	if err != nil {
		return nil, wire(err)
	}
	spec.Timeout, spec.OutputLimit = yurt.Duration(yurt.MaxExecutionTimeout), yurt.MaxOutputLimit
	if limit := req.GetTimeout().AsDuration(); limit > 0 {
		spec.Timeout = yurt.Duration(max(yurt.MinExecutionTimeout, min(limit, yurt.MaxExecutionTimeout)))
	}
	var result *yurt.Result
	err = t.execute(ctx, spec, func(c *api.Client) (err error) {
		if result, err = c.AwaitExecution(ctx, t.handle.Sandbox, spec.ID); err == nil {
			result, err = result.Whole(ctx)
		}
		return err
	})
	if err != nil {
		return nil, wire(err)
	}
	said := result.Stderr + explanation(result)
	// Nomad takes stdout alone for the output of a check's script. Its own drivers put both there.
	return &drivers.ExecTaskResponse{Stdout: []byte(result.Stdout + said), Stderr: []byte(said), Result: exitOf(result)}, nil
}

// explanation says why a command did not end by itself, for its caller to read after the output: for example, that the command
// does not exist.
func explanation(result *yurt.Result) string {
	if result.Error == nil || result.Error.Type == yurt.ErrorTypeSignaled {
		return ""
	}
	return "yurt: " + result.Error.Message + "\n"
}

// command is an execution in the task's sandbox, as the task's user.
func (t *task) command(argv []string) (yurt.ExecutionSpec, error) {
	if t.handle.Slot != "" {
		return yurt.ExecutionSpec{}, yurt.Errorf(yurt.CodeForbidden, "the task is a slot, and what is in it belongs to the session that claimed it; use yurt session exec")
	}
	spec := yurt.ExecutionSpec{
		ID: yurt.NewExecutionID(), Kind: yurt.KindCommand, Command: argv, User: t.handle.User, Cwd: t.handle.Cwd,
	}
	return spec, nil
}

// execute starts the execution, has follow see it through, and ends and forgets it in any case.
func (t *task) execute(ctx context.Context, spec yurt.ExecutionSpec, follow func(*api.Client) error) error {
	if err := t.node.Call(ctx, func(c *api.Client) error { return begin(ctx, c, t.handle.Sandbox, spec) }); err != nil {
		return err
	}
	defer t.forget(ctx, spec.ID)
	return t.node.Call(ctx, follow)
}

// forgetLimit bounds how long it may take to end a command whose caller has left.
const forgetLimit = 10 * time.Second

// forget ends the execution, if it goes on, and releases the node's record of it.
func (t *task) forget(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetLimit)
	defer cancel()
	client, err := t.node.Client()
	if err != nil {
		return
	}
	// A record that stays goes with the sandbox.
	if yurt.CodeOf(client.ForgetExecution(ctx, t.handle.Sandbox, id)) != yurt.CodeExecutionRunning {
		return
	}
	_ = client.SignalExecution(ctx, t.handle.Sandbox, id, yurt.SignalKill)
	if _, err := client.AwaitExecution(ctx, t.handle.Sandbox, id); err == nil {
		_ = client.ForgetExecution(ctx, t.handle.Sandbox, id)
	}
}
