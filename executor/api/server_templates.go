package api

import (
	"google.golang.org/grpc"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/proto"
)

func (s *nodeServer) PrepareTemplate(req *proto.PrepareTemplateRequest, stream grpc.ServerStreamingServer[proto.PrepareTemplateResponse]) error {
	var template yurt.Template
	if err := decodeRequest(req.GetTemplate(), &template); err != nil {
		return err
	}
	return s.config.Node.PrepareTemplate(stream.Context(), template, func(text string) error {
		return stream.Send(&proto.PrepareTemplateResponse{Text: []byte(text)})
	})
}
