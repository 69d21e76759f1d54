package api

import (
	"context"

	"google.golang.org/grpc"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/internal/wire"
	"github.com/yurtrun/yurt/executor/api/proto"
)

// fileServer serves files and, in a file of their own, directories.
type fileServer struct {
	proto.UnimplementedFilesServer
	node interface {
		Files
		Trees
	}
}

func (s *fileServer) Write(stream grpc.ClientStreamingServer[proto.WriteFileRequest, proto.FileResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	content := &wire.Received{Rest: first.GetData(), Next: func() ([]byte, error) {
		req, err := stream.Recv()
		return req.GetData(), err
	}}
	options := yurt.WriteOptions{
		If: yurt.Condition{Match: first.GetMatch(), NoneMatch: first.GetNoneMatch()}, Append: first.GetAppend(), Mode: yurt.FileMode(first.GetMode()),
	}
	res, err := fileResponse(s.node.WriteFile(stream.Context(), first.GetSandboxId(), first.GetPath(), content, options))
	if err != nil {
		return err
	}
	return stream.SendAndClose(res)
}

func (s *fileServer) WriteIf(stream grpc.ClientStreamingServer[proto.WriteFileRequest, proto.FileResponse]) error {
	return s.Write(stream)
}

// fileResponse encodes the description of a file, or passes the error on.
func fileResponse(info yurt.FileInfo, err error) (*proto.FileResponse, error) {
	if err != nil {
		return nil, err
	}
	data, err := wire.Encode(info)
	return &proto.FileResponse{Info: data}, err
}

func (s *fileServer) Read(req *proto.ReadFileRequest, stream grpc.ServerStreamingServer[proto.ReadFileResponse]) error {
	span := yurt.Span{Offset: req.GetOffset(), Length: req.GetLength()}
	content, info, err := s.node.ReadFile(stream.Context(), req.GetSandboxId(), req.GetPath(), span)
	if err != nil {
		return err
	}
	defer content.Close()
	data, err := wire.Encode(info)
	if err != nil {
		return err
	}
	if err := stream.Send(&proto.ReadFileResponse{Info: data}); err != nil {
		return err
	}
	return wire.SendAll(content, func(data []byte) error { return stream.Send(&proto.ReadFileResponse{Data: data}) })
}

func (s *fileServer) Stat(ctx context.Context, req *proto.StatFileRequest) (*proto.FileResponse, error) {
	return fileResponse(s.node.StatFile(ctx, req.GetSandboxId(), req.GetPath()))
}

func (s *fileServer) List(req *proto.ListFilesRequest, stream grpc.ServerStreamingServer[proto.ListFilesResponse]) error {
	options := yurt.ListOptions{Depth: int(req.GetDepth()), After: req.GetAfter(), Limit: int(req.GetLimit())}
	list, err := s.node.ListFiles(stream.Context(), req.GetSandboxId(), req.GetPath(), options)
	if err != nil {
		return err
	}
	data, err := wire.Encode(list)
	if err != nil {
		return err
	}
	return wire.Parts(data, func(part []byte, _ bool) error { return stream.Send(&proto.ListFilesResponse{List: part}) })
}

func (s *fileServer) MakeDir(ctx context.Context, req *proto.MakeDirRequest) (*proto.FileResponse, error) {
	return fileResponse(s.node.MakeDir(ctx, req.GetSandboxId(), req.GetPath(), yurt.FileMode(req.GetMode())))
}

func (s *fileServer) Move(ctx context.Context, req *proto.MoveFileRequest) (*proto.FileResponse, error) {
	return fileResponse(s.node.MoveFile(ctx, req.GetSandboxId(), req.GetFrom(), req.GetTo(), req.GetReplace()))
}

func (s *fileServer) Chmod(ctx context.Context, req *proto.ChmodFileRequest) (*proto.FileResponse, error) {
	return fileResponse(s.node.ChmodFile(ctx, req.GetSandboxId(), req.GetPath(), yurt.FileMode(req.GetMode())))
}

func (s *fileServer) Remove(ctx context.Context, req *proto.RemoveFileRequest) (*proto.RemoveFileResponse, error) {
	return &proto.RemoveFileResponse{}, s.node.RemoveFile(ctx, req.GetSandboxId(), req.GetPath(), req.GetAll())
}
