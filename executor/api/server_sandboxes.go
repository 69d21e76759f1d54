package api

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/internal/wire"
	"github.com/yurtrun/yurt/executor/api/proto"
)

// sandboxServer serves sandboxes.
type sandboxServer struct {
	proto.UnimplementedSandboxesServer
	node interface {
		Sandboxes
		Pauses
		Processes
	}
}

func (s *sandboxServer) Create(ctx context.Context, req *proto.CreateSandboxRequest) (*proto.CreateSandboxResponse, error) {
	var spec yurt.SandboxSpec
	if err := wire.DecodeRequest(req.GetSpec(), &spec); err != nil {
		return nil, err
	}
	if spec.Host != nil {
		if err := requireLocal(ctx, "what a sandbox has of the node"); err != nil {
			return nil, err
		}
	}
	sandbox, err := s.node.CreateSandbox(ctx, spec)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil { // the caller is gone
		return nil, errors.Join(ctx.Err(), s.node.DestroySandbox(context.WithoutCancel(ctx), sandbox.ID))
	}
	data, err := wire.Encode(sandbox)
	return &proto.CreateSandboxResponse{Sandbox: data}, err
}

func (s *sandboxServer) Destroy(ctx context.Context, req *proto.DestroySandboxRequest) (*proto.DestroySandboxResponse, error) {
	return &proto.DestroySandboxResponse{}, s.node.DestroySandbox(ctx, req.GetSandboxId())
}

func (s *sandboxServer) List(_ *proto.ListSandboxesRequest, stream grpc.ServerStreamingServer[proto.ListSandboxesResponse]) error {
	list, err := s.node.Sandboxes(stream.Context())
	if err != nil {
		return err
	}
	for _, sandbox := range list {
		data, err := wire.Encode(sandbox)
		if err != nil {
			return err
		}
		if err := stream.Send(&proto.ListSandboxesResponse{Sandbox: data}); err != nil {
			return err
		}
	}
	return nil
}

func (s *sandboxServer) Watch(_ *proto.WatchSandboxesRequest, stream grpc.ServerStreamingServer[proto.WatchSandboxesResponse]) error {
	ctx, cancel := context.WithCancelCause(stream.Context())
	defer cancel(nil)
	err := s.node.WatchSandboxes(ctx, func(dead yurt.Sandbox) {
		data, err := wire.Encode(dead)
		if err == nil {
			err = stream.Send(&proto.WatchSandboxesResponse{Sandbox: data})
		}
		if err != nil {
			cancel(err)
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (s *sandboxServer) Pause(ctx context.Context, req *proto.PauseSandboxRequest) (*proto.PauseSandboxResponse, error) {
	return &proto.PauseSandboxResponse{}, s.node.PauseSandbox(ctx, req.GetSandboxId())
}

func (s *sandboxServer) Resume(ctx context.Context, req *proto.ResumeSandboxRequest) (*proto.ResumeSandboxResponse, error) {
	return &proto.ResumeSandboxResponse{}, s.node.ResumeSandbox(ctx, req.GetSandboxId())
}

func (s *sandboxServer) Stats(ctx context.Context, req *proto.SandboxStatsRequest) (*proto.SandboxStatsResponse, error) {
	stats, err := s.node.SandboxStats(ctx, req.GetSandboxId())
	if err != nil {
		return nil, err
	}
	data, err := wire.Encode(stats)
	return &proto.SandboxStatsResponse{Stats: data}, err
}

func (s *sandboxServer) Health(ctx context.Context, req *proto.SandboxHealthRequest) (*proto.SandboxHealthResponse, error) {
	health, err := s.node.SandboxHealth(ctx, req.GetSandboxId())
	if err != nil {
		return nil, err
	}
	data, err := wire.Encode(health)
	return &proto.SandboxHealthResponse{Health: data}, err
}

func (s *sandboxServer) ListProcesses(ctx context.Context, req *proto.ListProcessesRequest) (*proto.ListProcessesResponse, error) {
	list, err := s.node.Processes(ctx, req.GetSandboxId())
	if err != nil {
		return nil, err
	}
	data, err := wire.EncodeAll(list)
	return &proto.ListProcessesResponse{Processes: data}, err
}

func (s *sandboxServer) SignalProcess(ctx context.Context, req *proto.SignalProcessRequest) (*proto.SignalProcessResponse, error) {
	return &proto.SignalProcessResponse{}, s.node.SignalProcess(ctx, req.GetSandboxId(), int(req.GetPid()), yurt.Signal(req.GetSignal()))
}
