package driver

import (
	"context"
	"time"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/driver/internal/node"
	"github.com/yurtrun/yurt/driver/internal/taskspec"
	"github.com/yurtrun/yurt/executor/api"
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

// translate returns the task in the executor's terms.
func (d *Driver) translate(config *drivers.TaskConfig) (taskspec.Spec, error) {
	return taskspec.Translate(config, d.settings(), d.templates())
}

// start makes the task's sandbox and execution, or leaves no trace.
func (d *Driver) start(ctx context.Context, config *drivers.TaskConfig) (handle, error) {
	spec, err := d.translate(config)
	if err != nil {
		return handle{}, err
	}
	n := d.executor()
	if spec.Slot != nil {
		return open(ctx, n, *spec.Slot)
	}
	if err := d.pull(ctx, n, config, &spec); err != nil {
		return handle{}, err
	}
	if err := spec.WriteNames(config); err != nil {
		return handle{}, err
	}
	d.limitLogs(ctx, config, &spec)
	d.prepareHost(config, &spec)
	h := handle{
		Version: handleVersion, Sandbox: spec.Sandbox.ID, Execution: spec.Execution.ID,
		User: spec.Execution.User, Cwd: spec.Execution.Cwd, StartedAt: time.Now(),
	}
	if err := createTask(ctx, n, &spec); err != nil {
		return handle{}, err
	}
	err = n.Call(ctx, func(c *api.Client) error { return begin(ctx, c, spec.Sandbox.ID, spec.Execution) })
	if err == nil {
		return h, nil
	}
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
	defer cancel()
	if gone := n.Call(clean, func(c *api.Client) error { return c.DestroySandbox(clean, spec.Sandbox.ID) }); gone != nil {
		d.logger.Error("sandbox of a task that did not start not removed", "sandbox", spec.Sandbox.ID, "error", gone)
	}
	return handle{}, err
}

// prepareHost opens the ports of the group's network, and tells which parts of the node the task will not be able to use.
// Neither keeps the task from starting.
func (d *Driver) prepareHost(config *drivers.TaskConfig, spec *taskspec.Spec) {
	host := spec.Sandbox.Host
	warnings := closedVolumes(config, host, spec.Execution.User)
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

// createTask makes the task's sandbox. An executor from before host names refuses a host name. An upgrade ends such an executor
// some time after the older driver: until then, tasks that ask for no name of their own have none.
func createTask(ctx context.Context, n *node.Executor, spec *taskspec.Spec) error {
	try := func() error {
		return n.Call(ctx, func(c *api.Client) error { return create(ctx, c, spec.Sandbox) })
	}
	err := try()
	if yurt.CodeOf(err) != yurt.CodeMalformedBody || spec.OwnName {
		return err
	}
	spec.Sandbox.Host.Hostname = ""
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
func exists(err error) bool { return yurt.IsField(err, "id") }
