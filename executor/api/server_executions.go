package api

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/internal/wire"
	"github.com/yurtrun/yurt/executor/api/proto"
)

// executionServer serves executions.
type executionServer struct {
	proto.UnimplementedExecutionsServer
	node interface {
		Executions
		Controls
	}
}

func (s *executionServer) Start(ctx context.Context, req *proto.StartExecutionRequest) (*proto.StartExecutionResponse, error) {
	_, err := s.start(ctx, req)
	return &proto.StartExecutionResponse{}, err
}

func (s *executionServer) start(ctx context.Context, req *proto.StartExecutionRequest) (id string, err error) {
	var spec yurt.ExecutionSpec
	if err := wire.DecodeRequest(req.GetSpec(), &spec); err != nil {
		return "", err
	}
	if spec.NeedsNode() {
		if err := requireLocal(ctx, "endless, logs or user of an execution"); err != nil {
			return "", err
		}
	}
	return spec.ID, s.node.StartExecution(ctx, req.GetSandboxId(), spec)
}

// Run starts the execution also when the server is shut down meanwhile, as it does for Start.
func (s *executionServer) Run(req *proto.StartExecutionRequest, stream grpc.ServerStreamingServer[proto.WaitExecutionResponse]) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(stream.Context()), callLimit)
	id, err := s.start(ctx, req)
	cancel()
	if err != nil {
		return err
	}
	if err := stream.Send(&proto.WaitExecutionResponse{}); err != nil {
		return err
	}
	return s.sendResult(req.GetSandboxId(), id, req.GetOutputApart(), stream)
}

func (s *executionServer) Watch(req *proto.WatchExecutionRequest, stream grpc.ServerStreamingServer[proto.WatchExecutionResponse]) error {
	if err := stream.SendHeader(nil); err != nil { // the watcher is to know that it is heard
		return err
	}
	return s.node.WatchExecution(stream.Context(), req.GetSandboxId(), req.GetExecutionId(), req.GetAfter(), func(e yurt.Event) error {
		if e.Result != nil && !req.GetOutputApart() {
			var err error
			if e.Result, err = e.Result.Whole(stream.Context()); err != nil {
				return err
			}
		}
		return wire.SendEvent(e, stream.Send)
	})
}

func (s *executionServer) Wait(req *proto.WaitExecutionRequest, stream grpc.ServerStreamingServer[proto.WaitExecutionResponse]) error {
	return s.sendResult(req.GetSandboxId(), req.GetExecutionId(), req.GetOutputApart(), stream)
}

// sendResult sends the result of an execution once it has ended. A caller of an earlier version takes all of its output in it.
func (s *executionServer) sendResult(sandboxID, executionID string, apart bool, stream grpc.ServerStreamingServer[proto.WaitExecutionResponse]) error {
	result, err := s.node.AwaitExecution(stream.Context(), sandboxID, executionID)
	if err != nil {
		return err
	}
	if !apart {
		if result, err = result.Whole(stream.Context()); err != nil {
			return err
		}
	}
	data, err := wire.Encode(result.Kept())
	if err != nil {
		return err
	}
	return wire.Parts(data, func(part []byte, _ bool) error {
		return stream.Send(&proto.WaitExecutionResponse{Result: part})
	})
}

func (s *executionServer) Forget(ctx context.Context, req *proto.ForgetExecutionRequest) (*proto.ForgetExecutionResponse, error) {
	return &proto.ForgetExecutionResponse{}, s.node.ForgetExecution(ctx, req.GetSandboxId(), req.GetExecutionId())
}

func (s *executionServer) WriteStdin(ctx context.Context, req *proto.WriteStdinRequest) (*proto.WriteStdinResponse, error) {
	return &proto.WriteStdinResponse{}, s.node.WriteStdin(ctx, req.GetSandboxId(), req.GetExecutionId(), req.GetData(), req.GetEof())
}

func (s *executionServer) Signal(ctx context.Context, req *proto.SignalExecutionRequest) (*proto.SignalExecutionResponse, error) {
	send := s.node.SignalExecution
	if req.GetMainOnly() {
		send = s.node.SignalMain
	}
	return &proto.SignalExecutionResponse{}, send(ctx, req.GetSandboxId(), req.GetExecutionId(), yurt.Signal(req.GetSignal()))
}

func (s *executionServer) Resize(ctx context.Context, req *proto.ResizeExecutionRequest) (*proto.ResizeExecutionResponse, error) {
	var size yurt.TerminalSize
	if err := wire.DecodeRequest(req.GetSize(), &size); err != nil {
		return nil, err
	}
	return &proto.ResizeExecutionResponse{}, s.node.ResizeExecution(ctx, req.GetSandboxId(), req.GetExecutionId(), size)
}

// Output sends the text of a stream of an execution that has ended.
func (s *executionServer) Output(req *proto.OutputRequest, stream grpc.ServerStreamingServer[proto.OutputResponse]) error {
	kind := yurt.EventType(req.GetStream())
	if kind != yurt.EventStdout && kind != yurt.EventStderr {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "stream", "%.40q is no stream of output; give %q or %q", req.GetStream(), yurt.EventStdout, yurt.EventStderr)
	}
	if req.GetFrom() < 0 {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "from", "%d is no offset; give 0 or more", req.GetFrom())
	}
	result, err := s.node.AwaitExecution(stream.Context(), req.GetSandboxId(), req.GetExecutionId())
	if err != nil {
		return err
	}
	text, err := result.OpenOutput(stream.Context(), kind, req.GetFrom())
	if err != nil {
		return err
	}
	defer text.Close()
	buf := make([]byte, outputPart)
	for {
		n, err := io.ReadFull(text, buf)
		if n > 0 {
			if err := stream.Send(&proto.OutputResponse{Data: buf[:n]}); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF), wire.IsEnd(err):
			return nil
		case err != nil:
			return err
		}
	}
}

// outputPart is how many bytes of output a message has.
const outputPart = 128 << 10
