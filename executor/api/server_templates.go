package api

import (
	"google.golang.org/grpc"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/internal/wire"
	"github.com/yurtrun/yurt/executor/api/proto"
)

func (s *nodeServer) PrepareTemplate(req *proto.PrepareTemplateRequest, stream grpc.ServerStreamingServer[proto.PrepareTemplateResponse]) error {
	var template yurt.Template
	if err := wire.DecodeRequest(req.GetTemplate(), &template); err != nil {
		return err
	}
	return s.config.Node.PrepareTemplate(stream.Context(), template, func(text string) error {
		return stream.Send(&proto.PrepareTemplateResponse{Text: []byte(text)})
	})
}

func (s *nodeServer) PrepareImage(req *proto.PrepareImageRequest, stream grpc.ServerStreamingServer[proto.PrepareImageResponse]) error {
	image, err := s.config.Node.PrepareImage(stream.Context(), req.GetReference(), func(text string) error {
		return stream.Send(&proto.PrepareImageResponse{Text: []byte(text)})
	})
	if err != nil {
		return err
	}
	data, err := wire.Encode(image)
	if err != nil {
		return err
	}
	return stream.Send(&proto.PrepareImageResponse{Image: data})
}
