package driver

import (
	"context"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api"
)

// RecoverTask implements the service. It may be called for a task that is known.
func (s *driverServer) RecoverTask(ctx context.Context, req *drivers.RecoverTaskRequest) (*drivers.RecoverTaskResponse, error) {
	d, config := s.driver, req.GetHandle().GetConfig()
	h, err := decodeHandle(req.GetHandle().GetDriverState())
	if err != nil {
		return nil, wire(err)
	}
	if _, err := d.find(config.GetId()); err == nil {
		return &drivers.RecoverTaskResponse{}, nil
	}
	t := newTask(config, h, d.executor())
	if err := t.present(ctx); err != nil {
		d.logger.Warn("task not recovered", "task_id", t.id, "error", err)
		return nil, wire(err)
	}
	d.add(t)
	return &drivers.RecoverTaskResponse{}, nil
}

// present returns an error unless the executor has the task's sandbox, ended or not.
func (t *task) present(ctx context.Context) error {
	if t.handle.Slot != "" {
		return t.slotPresent(ctx)
	}
	return t.node.Call(ctx, func(c *api.Client) error {
		sandboxes, err := c.Sandboxes(ctx)
		if err != nil {
			return err
		}
		for _, sandbox := range sandboxes {
			if sandbox.ID == t.handle.Sandbox {
				return nil
			}
		}
		return yurt.Errorf(yurt.CodeSandboxNotFound, "this node has no sandbox %s any more, as after a restart of the machine", t.handle.Sandbox)
	})
}
