package api

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/proto"
)

// sandboxServer serves sandboxes.
type sandboxServer struct {
	proto.UnimplementedSandboxesServer
	node Sandboxes
}

func (s *sandboxServer) Create(ctx context.Context, req *proto.CreateSandboxRequest) (*proto.CreateSandboxResponse, error) {
	var spec yurt.SandboxSpec
	if err := decodeRequest(req.GetSpec(), &spec); err != nil {
		return nil, err
	}
	sandbox, err := s.node.CreateSandbox(ctx, spec)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil { // nobody hears of it
		return nil, errors.Join(ctx.Err(), s.node.DestroySandbox(context.WithoutCancel(ctx), sandbox.ID))
	}
	data, err := encode(sandbox)
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
		data, err := encode(sandbox)
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
		data, err := encode(dead)
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
