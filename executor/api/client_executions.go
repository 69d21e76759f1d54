package api

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/proto"
)

// StartExecution implements [Node].
func (c *Client) StartExecution(ctx context.Context, sandboxID string, spec yurt.ExecutionSpec) error {
	data, err := encode(spec)
	if err != nil {
		return err
	}
	if len(data) > maxMessage-maxPart {
		return yurt.Errorf(yurt.CodeBodyTooLarge, "the execution has %s of arguments, source text and input; put what is large into files", yurt.Size(len(data)))
	}
	_, err = c.executions.Start(ctx, &proto.StartExecutionRequest{SandboxId: sandboxID, Spec: data})
	return err
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
		req := &proto.WatchExecutionRequest{SandboxId: sandboxID, ExecutionId: executionID, After: after}
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

// stopped says that the watcher wanted no more, whatever its reason looks like.
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
	var event eventAssembler
	return receive(stream.Recv, func(res *proto.WatchExecutionResponse) error { return event.add(res, each) })
}

// eventAssembler puts events together from their messages.
type eventAssembler struct{ head, data document }

// add takes the next message, and calls each when it completes an event.
func (a *eventAssembler) add(res *proto.WatchExecutionResponse, each func(yurt.Event) error) error {
	if err := errors.Join(a.head.add(res.GetEvent()), a.data.add(res.GetData())); err != nil || res.GetMore() {
		return err
	}
	var e yurt.Event
	if err := decodeAnswer(a.head.Bytes(), &e); err != nil {
		return err
	}
	if a.data.Len() > 0 {
		e.Data = a.data.Bytes()
	}
	*a = eventAssembler{} // what was told is the watcher's
	return each(e)
}

// WaitExecution implements [Node].
func (c *Client) WaitExecution(ctx context.Context, sandboxID, executionID string) (*yurt.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.executions.Wait(ctx, &proto.WaitExecutionRequest{SandboxId: sandboxID, ExecutionId: executionID})
	if err != nil {
		return nil, err
	}
	var whole document
	if err := receive(stream.Recv, func(res *proto.WaitExecutionResponse) error { return whole.add(res.GetResult()) }); err != nil {
		return nil, err
	}
	result := new(yurt.Result)
	return result, decodeAnswer(whole.Bytes(), result)
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
		if isEnd(err) {
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

// isEnd reports whether a stream came to its orderly end, which gRPC says with the
// value itself.
func isEnd(err error) bool { return err == io.EOF } //nolint:errorlint // an error that wraps it is another
