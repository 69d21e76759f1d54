package api

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/internal/wire"
	"github.com/yurtrun/yurt/executor/api/proto"
)

// contextServer serves interpreters.
type contextServer struct {
	proto.UnimplementedContextsServer
	node Contexts
}

func (s *contextServer) List(ctx context.Context, req *proto.ListContextsRequest) (*proto.ListContextsResponse, error) {
	list, err := s.node.Contexts(ctx, req.GetSandboxId())
	if err != nil {
		return nil, err
	}
	data, err := wire.EncodeAll(list)
	return &proto.ListContextsResponse{Contexts: data}, err
}

func (s *contextServer) Restart(ctx context.Context, req *proto.RestartContextRequest) (*proto.RestartContextResponse, error) {
	return &proto.RestartContextResponse{}, s.node.RestartContext(ctx, req.GetSandboxId(), req.GetName(), req.GetLanguage())
}

func (s *contextServer) Remove(ctx context.Context, req *proto.RemoveContextRequest) (*proto.RemoveContextResponse, error) {
	return &proto.RemoveContextResponse{}, s.node.RemoveContext(ctx, req.GetSandboxId(), req.GetName(), req.GetLanguage())
}

func (s *contextServer) Ask(ctx context.Context, req *proto.AskContextRequest) (*proto.AskContextResponse, error) {
	var question yurt.Question
	if err := wire.DecodeRequest(req.GetQuestion(), &question); err != nil {
		return nil, err
	}
	answer, err := s.node.AskContext(ctx, req.GetSandboxId(), req.GetName(), question)
	if err != nil {
		return nil, err
	}
	data, err := wire.Encode(answer)
	return &proto.AskContextResponse{Answer: data}, err
}
