package driver

import (
	"context"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// WaitTask implements the service.
func (s *driverServer) WaitTask(ctx context.Context, req *drivers.WaitTaskRequest) (*drivers.WaitTaskResponse, error) {
	t, err := s.driver.find(req.GetTaskId())
	if err != nil {
		return nil, err
	}
	exit, err := t.wait(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return &drivers.WaitTaskResponse{Err: err.Error()}, nil //nolint:nilerr // it is the answer
	}
	return &drivers.WaitTaskResponse{Result: exit.result, Err: exit.message}, nil
}

// InspectTask implements the service. That a task has ended it finds out by itself.
func (s *driverServer) InspectTask(ctx context.Context, req *drivers.InspectTaskRequest) (*drivers.InspectTaskResponse, error) {
	t, err := s.driver.find(req.GetTaskId())
	if err != nil {
		return nil, err
	}
	status := &drivers.TaskStatus{Id: t.id, Name: t.name, State: drivers.TaskState_RUNNING, StartedAt: timestamppb.New(t.handle.StartedAt), CompletedAt: timestamppb.New(t.handle.StartedAt)}
	if !t.running(ctx) {
		exit := t.known()
		status.State, status.Result, status.CompletedAt = drivers.TaskState_EXITED, exit.result, timestamppb.New(exit.at)
	}
	return &drivers.InspectTaskResponse{Task: status, Driver: &drivers.TaskDriverStatus{Attributes: map[string]string{
		"sandbox": t.handle.Sandbox, "execution": t.handle.Execution, "slot": t.handle.Slot,
	}}}, nil
}
