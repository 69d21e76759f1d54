package api

import (
	"google.golang.org/grpc"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/internal/wire"
	"github.com/yurtrun/yurt/executor/api/proto"
)

func (s *fileServer) Pack(req *proto.PackFilesRequest, stream grpc.ServerStreamingServer[proto.PackFilesResponse]) error {
	to := wire.Sender(func(data []byte) error { return stream.Send(&proto.PackFilesResponse{Data: data}) })
	return s.node.PackFiles(stream.Context(), req.GetSandboxId(), req.GetPath(), to)
}

func (s *fileServer) Unpack(stream grpc.ClientStreamingServer[proto.UnpackFilesRequest, proto.UnpackFilesResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	archive := &wire.Received{Rest: first.GetData(), Next: func() ([]byte, error) {
		req, err := stream.Recv()
		return req.GetData(), err
	}}
	unpacked, err := s.node.UnpackFiles(stream.Context(), first.GetSandboxId(), first.GetPath(), archive)
	if err != nil {
		return err
	}
	data, err := wire.Encode(unpacked)
	if err != nil {
		return err
	}
	return stream.SendAndClose(&proto.UnpackFilesResponse{Unpacked: data})
}

func (s *fileServer) Watch(req *proto.WatchFilesRequest, stream grpc.ServerStreamingServer[proto.WatchFilesResponse]) error {
	var failed error
	ready := func() { failed = stream.SendHeader(nil) }
	return s.node.WatchFiles(stream.Context(), req.GetSandboxId(), req.GetPath(), req.GetDeep(), ready, func(e yurt.FileEvent) error {
		if failed != nil {
			return failed
		}
		data, err := wire.Encode(e)
		if err != nil {
			return err
		}
		return stream.Send(&proto.WatchFilesResponse{Event: data})
	})
}
