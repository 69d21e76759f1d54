package api

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/internal/wire"
	"github.com/yurtrun/yurt/executor/api/proto"
)

// StartExecution implements [Node].
func (c *Client) StartExecution(ctx context.Context, sandboxID string, spec yurt.ExecutionSpec) error {
	req, err := startRequest(sandboxID, spec)
	if err != nil {
		return err
	}
	_, err = c.executions.Start(ctx, req)
	return err
}

func startRequest(sandboxID string, spec yurt.ExecutionSpec) (*proto.StartExecutionRequest, error) {
	data, err := wire.Encode(spec)
	if err != nil {
		return nil, err
	}
	if len(data) > wire.MaxMessage-wire.MaxPart {
		return nil, yurt.Errorf(yurt.CodeBodyTooLarge, "the execution has %s of arguments, source text and input; put what is large into files", yurt.Size(len(data)))
	}
	return &proto.StartExecutionRequest{SandboxId: sandboxID, Spec: data, OutputApart: true}, nil
}

// RunExecution is [Client.StartExecution] and [Client.AwaitExecution] in one call. It returns once the execution is
// recorded; result is called once, and then behaves like AwaitExecution. A lost connection does not end the execution,
// and the caller can wait for it again. With an executor that does not know the call, the client makes the two calls.
func (c *Client) RunExecution(ctx context.Context, sandboxID string, spec yurt.ExecutionSpec) (result func(context.Context) (*yurt.Result, error), err error) {
	req, err := startRequest(sandboxID, spec)
	if err != nil {
		return nil, err
	}
	life, leave := context.WithCancel(context.WithoutCancel(ctx))
	stream, err := c.run(ctx, life, leave, req)
	if unknown := new(wire.UnknownCall); errors.As(err, &unknown) {
		leave()
		return func(ctx context.Context) (*yurt.Result, error) { return c.AwaitExecution(ctx, sandboxID, spec.ID) },
			c.StartExecution(ctx, sandboxID, spec)
	}
	if err != nil {
		leave()
		return nil, err
	}
	return func(ctx context.Context) (*yurt.Result, error) {
		defer leave()
		defer context.AfterFunc(ctx, leave)()
		result, err := c.receiveResult(stream, sandboxID, spec.ID)
		if err != nil && ctx.Err() != nil {
			err = ctx.Err() // which is why
		}
		return result, err
	}, nil
}

// run calls Run, with a context that leave ends, and returns once the execution is recorded
// or ctx ends.
func (c *Client) run(ctx, life context.Context, leave func(), req *proto.StartExecutionRequest) (grpc.ServerStreamingClient[proto.WaitExecutionResponse], error) {
	limited, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	defer context.AfterFunc(limited, leave)()
	stream, err := c.executions.Run(life, req)
	if err == nil {
		_, err = stream.Recv()
	}
	switch {
	case err == nil:
		return stream, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, yurt.Errorf(yurt.CodeUnavailable, "the executor does not answer: it has not begun within %s", callLimit)
	case wire.IsEnd(err):
		return nil, yurt.Errorf(yurt.CodeInternal, "calling the executor: its answer is empty")
	}
	return nil, err
}

// patience is how long a watch tries to find the executor again.
const patience = 30 * time.Second

// WatchExecution implements [Node]. It goes on where it was when the executor is
// started again.
func (c *Client) WatchExecution(ctx context.Context, sandboxID, executionID string, after uint64, each func(yurt.Event) error) error {
	deliver := func(e yurt.Event) error {
		after = e.Seq
		if err := each(e); err != nil {
			return &stopped{err}
		}
		return nil
	}
	for lost := time.Now(); ; {
		heard := false
		req := &proto.WatchExecutionRequest{SandboxId: sandboxID, ExecutionId: executionID, After: after, OutputApart: true}
		err := c.watch(ctx, req, func() { heard = true }, deliver)
		stop := new(stopped)
		if heard {
			lost = time.Now()
		}
		switch {
		case errors.As(err, &stop):
			return stop.reason
		case yurt.CodeOf(err) != yurt.CodeUnavailable || time.Since(lost) > patience:
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryLeast):
		}
	}
}

// stopped wraps the error with which the watcher ended its watch, even if it looks like the node's.
type stopped struct{ reason error }

func (s *stopped) Error() string { return s.reason.Error() }

// watch follows an execution until the connection ends. It calls answered once the
// executor has taken the call.
func (c *Client) watch(ctx context.Context, req *proto.WatchExecutionRequest, answered func(), each func(yurt.Event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.executions.Watch(ctx, req)
	if err != nil {
		return err
	}
	if header, err := stream.Header(); err == nil && header != nil {
		answered()
	}
	var event wire.Assembler
	return receive(stream.Recv, func(res *proto.WatchExecutionResponse) error { return event.Add(res, each) })
}

// AwaitExecution implements [Node].
func (c *Client) AwaitExecution(ctx context.Context, sandboxID, executionID string) (*yurt.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.executions.Wait(ctx, &proto.WaitExecutionRequest{SandboxId: sandboxID, ExecutionId: executionID, OutputApart: true})
	if err != nil {
		return nil, err
	}
	return c.receiveResult(stream, sandboxID, executionID)
}

func (c *Client) receiveResult(stream grpc.ServerStreamingClient[proto.WaitExecutionResponse], sandboxID, executionID string) (*yurt.Result, error) {
	var whole wire.Document
	if err := receive(stream.Recv, func(res *proto.WaitExecutionResponse) error { return whole.Add(res.GetResult()) }); err != nil {
		return nil, err
	}
	var kept yurt.KeptResult
	err := wire.DecodeAnswer(whole.Bytes(), &kept)
	result := kept.Take()
	if result.Output != nil {
		result.Output.Open = outputOf(c.executions, sandboxID, executionID)
	}
	return result, err
}

// ForgetExecution implements [Node].
func (c *Client) ForgetExecution(ctx context.Context, sandboxID, executionID string) error {
	_, err := c.executions.Forget(ctx, &proto.ForgetExecutionRequest{SandboxId: sandboxID, ExecutionId: executionID})
	return err
}

// receive calls each with every message until the stream ends.
func receive[M any](next func() (M, error), each func(M) error) error {
	for {
		message, err := next()
		if wire.IsEnd(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := each(message); err != nil {
			return err
		}
	}
}

// outputOf returns the function that opens the output of an execution at its node.
func outputOf(executions proto.ExecutionsClient, sandboxID, executionID string) func(context.Context, yurt.EventType, int64) (io.ReadCloser, error) {
	return func(ctx context.Context, stream yurt.EventType, from int64) (io.ReadCloser, error) {
		ctx, cancel := context.WithCancel(ctx)
		parts, err := executions.Output(ctx, &proto.OutputRequest{SandboxId: sandboxID, ExecutionId: executionID, Stream: string(stream), From: from})
		if err != nil {
			cancel()
			return nil, err
		}
		return &outputReader{parts: parts, cancel: cancel}, nil
	}
}

// outputReader reads the messages of a call as one text.
type outputReader struct {
	parts  grpc.ServerStreamingClient[proto.OutputResponse]
	cancel context.CancelFunc
	rest   []byte
}

// Read implements [io.Reader].
func (r *outputReader) Read(buf []byte) (int, error) {
	for len(r.rest) == 0 {
		part, err := r.parts.Recv()
		if err != nil {
			return 0, err // io.EOF at the end, as a reader's
		}
		r.rest = part.GetData()
	}
	n := copy(buf, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close implements [io.Closer].
func (r *outputReader) Close() error {
	r.cancel()
	return nil
}
