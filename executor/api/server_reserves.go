package api

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/internal/wire"
	"github.com/yurtrun/yurt/executor/api/proto"
)

// reserveServer serves sandboxes that are ready before they are asked for.
type reserveServer struct {
	proto.UnimplementedReservesServer
	node interface {
		Reserves
		Sandboxes
	}
}

func (s *reserveServer) Add(ctx context.Context, req *proto.AddReserveRequest) (*proto.AddReserveResponse, error) {
	var template yurt.Template
	if err := wire.DecodeRequest(req.GetTemplate(), &template); err != nil {
		return nil, err
	}
	sandbox, err := s.node.ReserveSandbox(ctx, template)
	if err != nil {
		return nil, err
	}
	data, err := wire.Encode(sandbox)
	return &proto.AddReserveResponse{Sandbox: data}, err
}

func (s *reserveServer) Claim(ctx context.Context, req *proto.ClaimSandboxRequest) (*proto.ClaimSandboxResponse, error) {
	var spec yurt.SandboxSpec
	if err := wire.DecodeRequest(req.GetSpec(), &spec); err != nil {
		return nil, err
	}
	sandbox, found, err := s.node.ClaimSandbox(ctx, spec)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return &proto.ClaimSandboxResponse{}, nil
	case ctx.Err() != nil: // the caller is gone, and the sandbox left the reserve for it
		return nil, errors.Join(ctx.Err(), s.node.DestroySandbox(context.WithoutCancel(ctx), sandbox.ID))
	}
	data, err := wire.Encode(sandbox)
	return &proto.ClaimSandboxResponse{Sandbox: data}, err
}

// Await is a stream, of one answer, as it is a call that may take long. A caller that has left before the answer is sent does not get the
// sandbox, which has left the reserve for it and is destroyed. Once the answer is sent, the end of the stream no longer tells whether the
// caller has it: callers end the stream when they have read the answer, and on a busy node that is before Send returns. So the caller
// decides then, and destroys a sandbox whose answer it did not read.
func (s *reserveServer) Await(req *proto.AwaitSandboxRequest, stream grpc.ServerStreamingServer[proto.AwaitSandboxResponse]) error {
	var spec yurt.SandboxSpec
	if err := wire.DecodeRequest(req.GetSpec(), &spec); err != nil {
		return err
	}
	ctx := stream.Context()
	sandbox, err := s.node.AwaitSandbox(ctx, spec, req.GetSlotId())
	if err != nil {
		return err
	}
	data, err := wire.Encode(sandbox)
	if err = errors.Join(err, ctx.Err()); err == nil {
		err = stream.Send(&proto.AwaitSandboxResponse{Sandbox: data})
	}
	if err != nil {
		return errors.Join(err, s.node.DestroySandbox(context.WithoutCancel(ctx), sandbox.ID))
	}
	return nil
}

func (s *reserveServer) List(ctx context.Context, _ *proto.ListReservesRequest) (*proto.ListReservesResponse, error) {
	list, err := s.node.Reserves(ctx)
	if err != nil {
		return nil, err
	}
	data, err := wire.EncodeAll(list)
	return &proto.ListReservesResponse{Reserves: data}, err
}

func (s *reserveServer) Release(ctx context.Context, req *proto.ReleaseReserveRequest) (*proto.ReleaseReserveResponse, error) {
	return &proto.ReleaseReserveResponse{}, s.node.ReleaseReserve(ctx, req.GetDigest())
}
