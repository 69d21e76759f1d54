package driver

import (
	"context"
	"time"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api"
)

// Labels of the sandboxes of tasks, beside those that the domain names.
const (
	labelTask = "nomad_task_id"
	labelDir  = "nomad_alloc_dir"
)

// StartTask implements the service.
func (s *driverServer) StartTask(ctx context.Context, req *drivers.StartTaskRequest) (*drivers.StartTaskResponse, error) {
	d, config := s.driver, req.GetTask()
	h, err := d.start(ctx, config)
	if err != nil {
		d.logger.Warn("task not started", "task_id", config.GetId(), "error", err)
		return nil, wire(err)
	}
	state, err := h.encode()
	if err != nil {
		return nil, wire(err)
	}
	d.add(newTask(config, h, d.executor()))
	return &drivers.StartTaskResponse{
		Result: drivers.StartTaskResponse_SUCCESS,
		Handle: &drivers.TaskHandle{Version: handleVersion, Config: config, State: drivers.TaskState_RUNNING, DriverState: state},
	}, nil
}

// start makes the task's sandbox and execution, or leaves no trace.
func (d *Driver) start(ctx context.Context, config *drivers.TaskConfig) (handle, error) {
	plan, err := d.plan(config)
	if err != nil {
		return handle{}, err
	}
	n := d.executor()
	if plan.slot != nil {
		return open(ctx, n, *plan.slot)
	}
	if err := d.pull(ctx, n, config, &plan); err != nil {
		return handle{}, err
	}
	if err := writeNames(taskDir(config), plan.names); err != nil {
		return handle{}, err
	}
	d.limitLogs(ctx, config, &plan)
	d.prepareHost(config, plan)
	h := handle{
		Version: handleVersion, Sandbox: plan.sandbox.ID, Execution: plan.execution.ID,
		User: plan.execution.User, Cwd: plan.execution.Cwd, StartedAt: time.Now(),
	}
	if err := plan.create(ctx, n); err != nil {
		return handle{}, err
	}
	err = n.call(ctx, func(c *api.Client) error { return begin(ctx, c, plan.sandbox.ID, plan.execution) })
	if err == nil {
		return h, nil
	}
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
	defer cancel()
	if gone := n.call(clean, func(c *api.Client) error { return c.DestroySandbox(clean, plan.sandbox.ID) }); gone != nil {
		d.logger.Error("sandbox of a task that did not start not removed", "sandbox", plan.sandbox.ID, "error", gone)
	}
	return handle{}, err
}

// prepareHost opens the ports of the group's network, and tells which parts of the node the task will not be able to use.
// Neither keeps the task from starting.
func (d *Driver) prepareHost(config *drivers.TaskConfig, p plan) {
	host := p.sandbox.Host
	warnings := closedVolumes(config, host, p.execution.User)
	if network := host.NetworkNamespace; network != "" && network != yurt.NodeNetwork {
		if err := openPorts(network); err != nil {
			warnings = append(warnings, "the task cannot listen on ports below 1024: "+err.Error())
		}
	}
	for _, warning := range warnings {
		d.logger.Warn("task started with less than it may expect", "task_id", config.GetId(), "warning", warning)
		d.events.say(config, warning)
	}
}

// cleanLimit bounds the removal of a task's remains.
const cleanLimit = time.Minute

// create makes the task's sandbox. An executor from before host names refuses a host name. An upgrade ends such an executor
// some time after the older driver: until then, tasks that ask for no name of their own have none.
func (p *plan) create(ctx context.Context, n *node) error {
	try := func() error {
		return n.call(ctx, func(c *api.Client) error { return create(ctx, c, p.sandbox) })
	}
	err := try()
	if yurt.CodeOf(err) != yurt.CodeMalformedBody || p.ownName {
		return err
	}
	p.sandbox.Host.Hostname = ""
	return try()
}

// create makes the sandbox. A sandbox with that id is of an earlier call whose answer was lost, and goes.
func create(ctx context.Context, c *api.Client, spec yurt.SandboxSpec) error {
	_, err := c.CreateSandbox(ctx, spec)
	if !exists(err) {
		return err
	}
	if err := c.DestroySandbox(ctx, spec.ID); err != nil && !gone(err) {
		return err
	}
	_, err = c.CreateSandbox(ctx, spec)
	return err
}

// begin starts the execution. One of that id is of an earlier try of the same call.
func begin(ctx context.Context, c *api.Client, sandbox string, spec yurt.ExecutionSpec) error {
	err := c.StartExecution(ctx, sandbox, spec)
	if exists(err) {
		return nil
	}
	return err
}

// exists reports whether the error says that there is one of that id.
func exists(err error) bool { return isField(err, "id") }
