package api

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/internal/wire"
	"github.com/yurtrun/yurt/executor/api/proto"
)

// WriteStdin implements [Node].
func (c *Client) WriteStdin(ctx context.Context, sandboxID, executionID string, data []byte, eof bool) error {
	_, err := c.executions.WriteStdin(ctx, &proto.WriteStdinRequest{SandboxId: sandboxID, ExecutionId: executionID, Data: data, Eof: eof})
	return err
}

// SignalExecution implements [Node].
func (c *Client) SignalExecution(ctx context.Context, sandboxID, executionID string, signal yurt.Signal) error {
	_, err := c.executions.Signal(ctx, &proto.SignalExecutionRequest{SandboxId: sandboxID, ExecutionId: executionID, Signal: int32(signal)})
	return err
}

// SignalMain implements [Node].
func (c *Client) SignalMain(ctx context.Context, sandboxID, executionID string, signal yurt.Signal) error {
	_, err := c.executions.Signal(ctx, &proto.SignalExecutionRequest{SandboxId: sandboxID, ExecutionId: executionID, Signal: int32(signal), MainOnly: true})
	return err
}

// ResizeExecution implements [Node].
func (c *Client) ResizeExecution(ctx context.Context, sandboxID, executionID string, size yurt.TerminalSize) error {
	data, err := wire.Encode(size)
	if err != nil {
		return err
	}
	_, err = c.executions.Resize(ctx, &proto.ResizeExecutionRequest{SandboxId: sandboxID, ExecutionId: executionID, Size: data})
	return err
}

// PauseSandbox implements [Node].
func (c *Client) PauseSandbox(ctx context.Context, sandboxID string) error {
	_, err := c.sandboxes.Pause(ctx, &proto.PauseSandboxRequest{SandboxId: sandboxID})
	return err
}

// ResumeSandbox implements [Node].
func (c *Client) ResumeSandbox(ctx context.Context, sandboxID string) error {
	_, err := c.sandboxes.Resume(ctx, &proto.ResumeSandboxRequest{SandboxId: sandboxID})
	return err
}

// SandboxStats implements [Node].
func (c *Client) SandboxStats(ctx context.Context, sandboxID string) (stats yurt.SandboxStats, err error) {
	res, err := c.sandboxes.Stats(ctx, &proto.SandboxStatsRequest{SandboxId: sandboxID})
	if err != nil {
		return stats, err
	}
	return stats, wire.DecodeAnswer(res.GetStats(), &stats)
}

// SandboxHealth implements [Node].
func (c *Client) SandboxHealth(ctx context.Context, sandboxID string) (health yurt.SandboxHealth, err error) {
	res, err := c.sandboxes.Health(ctx, &proto.SandboxHealthRequest{SandboxId: sandboxID})
	if err != nil {
		return health, err
	}
	return health, wire.DecodeAnswer(res.GetHealth(), &health)
}

// Processes implements [Node].
func (c *Client) Processes(ctx context.Context, sandboxID string) ([]yurt.Process, error) {
	res, err := c.sandboxes.ListProcesses(ctx, &proto.ListProcessesRequest{SandboxId: sandboxID})
	if err != nil {
		return nil, err
	}
	return wire.DecodeAll[yurt.Process](res.GetProcesses())
}

// SignalProcess implements [Node].
func (c *Client) SignalProcess(ctx context.Context, sandboxID string, pid int, signal yurt.Signal) error {
	_, err := c.sandboxes.SignalProcess(ctx, &proto.SignalProcessRequest{SandboxId: sandboxID, Pid: int32(pid), Signal: int32(signal)})
	return err
}
