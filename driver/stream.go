package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api"
)

// ExecTaskStreaming implements the service: a command beside the task that its caller types
// to and reads from while it runs, as nomad alloc exec does. It lasts as long as its caller
// stays, and waits while that one does not read.
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
	spec.Streamed, spec.StdinOpen = true, !setup.GetTty()
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

const (
	// beatEvery is how often a quiet caller is sent an empty message, which Nomad's own clients ignore. Only by that does Nomad
	// notice that its caller has left.
	beatEvery = 10 * time.Second
	// lastWord is how long a caller that types may take, when the command has ended, to say that it has stopped. Input that
	// Nomad cannot pass on makes it drop the result that is on its way.
	lastWord = 100 * time.Millisecond
)

// conversation is a command with its caller.
type conversation struct {
	task   *task
	spec   yurt.ExecutionSpec
	stream drivers.Driver_ExecTaskStreamingServer
	closed chan struct{} // when the caller has said that it types no more, or has left

	mu sync.Mutex // serialises the messages
}

// converse runs the command and passes the messages of both sides on until it ends.
func (t *task) converse(stream drivers.Driver_ExecTaskStreamingServer, spec yurt.ExecutionSpec) error {
	ctx, cancel := context.WithCancel(stream.Context())
	var beating sync.WaitGroup
	defer beating.Wait()
	defer cancel()
	var begin sync.Once // though an executor that went away may be asked again
	after := uint64(0)
	c := &conversation{task: t, spec: spec, stream: stream, closed: make(chan struct{})}
	return t.execute(ctx, spec, func(client *api.Client) error {
		begin.Do(func() {
			go c.listen(ctx, client) // it ends with the stream, which gRPC closes when this call returns
			beating.Go(func() { c.beat(ctx) })
		})
		err := client.WatchExecution(ctx, t.handle.Sandbox, spec.ID, after, func(e yurt.Event) error {
			after = e.Seq
			for _, answer := range answersTo(e) {
				if err := c.send(answer); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		select {
		case <-c.closed:
		case <-time.After(lastWord):
		}
		return nil
	})
}

func (c *conversation) send(answer *drivers.ExecTaskStreamingResponse) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stream.Send(answer)
}

// beat sends empty messages until the conversation is over.
func (c *conversation) beat(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if c.send(&drivers.ExecTaskStreamingResponse{}) != nil {
				return // and so does the stream
			}
		}
	}
}

// listen passes the caller's input on.
func (c *conversation) listen(ctx context.Context, client *api.Client) {
	sandbox, id := c.task.handle.Sandbox, c.spec.ID
	done := sync.OnceFunc(func() { close(c.closed) })
	defer done()
	for {
		req, err := c.stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			_ = client.WriteStdin(ctx, sandbox, id, nil, true) // it may have ended, or be closed already
			return
		case err != nil:
			return
		}
		if size := req.GetTtySize(); size != nil && c.spec.Terminal != nil {
			_ = client.ResizeExecution(ctx, sandbox, id, terminalSize(size)) // it may have ended
		}
		in := req.GetStdin()
		if in == nil {
			continue
		}
		if in.GetClose() {
			done()
		}
		// Unread input is lost, and its result on the way.
		if err := client.WriteStdin(ctx, sandbox, id, in.GetData(), in.GetClose()); err != nil && ctx.Err() != nil {
			return
		}
	}
}

// answersTo is an event as the caller hears it, if it does.
func answersTo(e yurt.Event) []*drivers.ExecTaskStreamingResponse {
	switch e.Type {
	case yurt.EventStdout:
		return []*drivers.ExecTaskStreamingResponse{{Stdout: &drivers.ExecTaskStreamingIOOperation{Data: e.Data}}}
	case yurt.EventStderr:
		return []*drivers.ExecTaskStreamingResponse{{Stderr: &drivers.ExecTaskStreamingIOOperation{Data: e.Data}}}
	case yurt.EventGap:
		text := fmt.Sprintf("yurt: pieces of output that were lost while the executor was started again: %d\n", e.Gap.To-e.Gap.From+1)
		return []*drivers.ExecTaskStreamingResponse{{Stderr: &drivers.ExecTaskStreamingIOOperation{Data: []byte(text)}}}
	case yurt.EventEnded:
		end := &drivers.ExecTaskStreamingResponse{Exited: true, Result: exitOf(e.Result)}
		if text := explanation(e.Result); text != "" {
			return []*drivers.ExecTaskStreamingResponse{{Stderr: &drivers.ExecTaskStreamingIOOperation{Data: []byte(text)}}, end}
		}
		return []*drivers.ExecTaskStreamingResponse{end}
	default:
		return nil
	}
}
