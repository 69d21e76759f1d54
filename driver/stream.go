package driver

import (
	"context"
	"errors"
	"io"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api"
)

// ExecTaskStreaming implements the service: a command beside the task that its caller types
// to and reads from while it runs, as nomad alloc exec does.
func (s *driverServer) ExecTaskStreaming(stream drivers.Driver_ExecTaskStreamingServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	setup := first.GetSetup()
	if setup == nil {
		return wire(yurt.Errorf(yurt.CodeInvalidArgument, "the first message has to say what to run"))
	}
	t, err := s.driver.find(setup.GetTaskId())
	if err != nil {
		return err
	}
	spec, err := t.command(setup.GetCommand())
	if err != nil {
		return wire(err)
	}
	spec.StdinOpen = !setup.GetTty()
	if setup.GetTty() {
		size := terminalSize(first.GetTtySize())
		spec.Terminal = &size
	}
	return wire(t.converse(stream, spec))
}

func terminalSize(asked *drivers.ExecTaskStreamingRequest_TerminalSize) yurt.TerminalSize {
	side := func(n int32) uint16 { return uint16(max(0, min(n, yurt.MaxTerminalSide))) }
	return yurt.TerminalSize{Rows: side(asked.GetHeight()), Cols: side(asked.GetWidth())}.
		Or(yurt.TerminalSize{Rows: yurt.DefaultTerminalRows, Cols: yurt.DefaultTerminalCols})
}

// converse runs the command and passes on what either side says until it ends.
func (t *task) converse(stream drivers.Driver_ExecTaskStreamingServer, spec yurt.ExecutionSpec) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel() // with which the listener below ends, as the stream does with this call
	return t.execute(ctx, spec, func(c *api.Client) error {
		go t.listen(ctx, c, stream, spec) // it ends with the stream, which gRPC closes when this call returns
		return c.WatchExecution(ctx, t.handle.Sandbox, spec.ID, 0, func(e yurt.Event) error {
			answer := answerOf(e)
			if answer == nil {
				return nil
			}
			return stream.Send(answer)
		})
	})
}

// listen passes on what the caller types.
func (t *task) listen(ctx context.Context, c *api.Client, stream drivers.Driver_ExecTaskStreamingServer, spec yurt.ExecutionSpec) {
	for {
		req, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			_ = c.WriteStdin(ctx, t.handle.Sandbox, spec.ID, nil, true) // it may have ended, or be closed already
			return
		case err != nil:
			return
		}
		if size := req.GetTtySize(); size != nil && spec.Terminal != nil {
			_ = c.ResizeExecution(ctx, t.handle.Sandbox, spec.ID, terminalSize(size)) // it may have ended
		}
		in := req.GetStdin()
		if in == nil {
			continue
		}
		// What it does not read any more is lost, and its result on the way.
		if err := c.WriteStdin(ctx, t.handle.Sandbox, spec.ID, in.GetData(), in.GetClose()); err != nil && ctx.Err() != nil {
			return
		}
	}
}

// answerOf is an event as the caller hears it, nil if it does not.
func answerOf(e yurt.Event) *drivers.ExecTaskStreamingResponse {
	switch e.Type {
	case yurt.EventStdout:
		return &drivers.ExecTaskStreamingResponse{Stdout: &drivers.ExecTaskStreamingIOOperation{Data: e.Data}}
	case yurt.EventStderr:
		return &drivers.ExecTaskStreamingResponse{Stderr: &drivers.ExecTaskStreamingIOOperation{Data: e.Data}}
	case yurt.EventEnded:
		return &drivers.ExecTaskStreamingResponse{Exited: true, Result: exitOf(e.Result)}
	default:
		return nil
	}
}
