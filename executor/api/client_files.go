package api

import (
	"context"
	"io"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/internal/wire"
	"github.com/yurtrun/yurt/executor/api/proto"
)

// WriteFile implements [Node].
func (c *Client) WriteFile(ctx context.Context, sandboxID, path string, content io.Reader, options yurt.WriteOptions) (yurt.FileInfo, error) {
	ctx, cancel := context.WithCancel(ctx) // which the executor takes for "no"
	defer cancel()
	write := c.files.Write
	if !options.If.IsZero() {
		write = c.files.WriteIf
	}
	stream, err := write(ctx)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	first := &proto.WriteFileRequest{
		SandboxId: sandboxID, Path: path, Append: options.Append, Mode: uint32(options.Mode), Match: options.If.Match, NoneMatch: options.If.NoneMatch,
	}
	err = sendAfter(func() error { return stream.Send(first) }, content, func(data []byte) error {
		return stream.Send(&proto.WriteFileRequest{Data: data})
	})
	if err != nil {
		return yurt.FileInfo{}, err
	}
	return fileInfo(stream.CloseAndRecv())
}

// sendAfter sends a call's first message, and then the content. If the executor answers before it has all content,
// sending stops without an error: the answer explains it.
func sendAfter(first func() error, content io.Reader, send func([]byte) error) error {
	err := first()
	if err == nil {
		err = wire.SendAll(content, send)
	}
	if wire.IsEnd(err) {
		return nil
	}
	return err
}

// fileInfo decodes the executor's description of a file.
func fileInfo(res *proto.FileResponse, err error) (info yurt.FileInfo, _ error) {
	if err != nil {
		return info, err
	}
	return info, wire.DecodeAnswer(res.GetInfo(), &info)
}

// ReadFile implements [Node].
func (c *Client) ReadFile(ctx context.Context, sandboxID, path string, span yurt.Span) (_ io.ReadCloser, info yurt.FileInfo, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	stream, err := c.files.Read(ctx, &proto.ReadFileRequest{SandboxId: sandboxID, Path: path, Offset: span.Offset, Length: span.Length})
	if err != nil {
		return nil, info, err
	}
	first, err := stream.Recv()
	if err != nil {
		return nil, info, err
	}
	if err := wire.DecodeAnswer(first.GetInfo(), &info); err != nil {
		return nil, info, err
	}
	content := &wire.Received{Rest: first.GetData(), Next: func() ([]byte, error) {
		res, err := stream.Recv()
		return res.GetData(), err
	}}
	return &reading{content, cancel}, info, nil
}

// reading is a file that is being read.
type reading struct {
	*wire.Received
	cancel context.CancelFunc
}

// Close ends the call.
func (r *reading) Close() error {
	r.cancel()
	return nil
}

// StatFile implements [Node].
func (c *Client) StatFile(ctx context.Context, sandboxID, path string) (yurt.FileInfo, error) {
	return fileInfo(c.files.Stat(ctx, &proto.StatFileRequest{SandboxId: sandboxID, Path: path}))
}

// ListFiles implements [Node].
func (c *Client) ListFiles(ctx context.Context, sandboxID, path string, options yurt.ListOptions) (list yurt.FileList, err error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	if err := options.Validate(); err != nil { // the wire has no negative numbers
		return list, err
	}
	stream, err := c.files.List(ctx, &proto.ListFilesRequest{
		SandboxId: sandboxID, Path: path, Depth: uint32(options.Depth), After: options.After, Limit: uint32(options.Limit),
	})
	if err != nil {
		return list, err
	}
	var whole wire.Document
	if err := receive(stream.Recv, func(res *proto.ListFilesResponse) error { return whole.Add(res.GetList()) }); err != nil {
		return list, err
	}
	return list, wire.DecodeAnswer(whole.Bytes(), &list)
}

// MakeDir implements [Node].
func (c *Client) MakeDir(ctx context.Context, sandboxID, path string, mode yurt.FileMode) (yurt.FileInfo, error) {
	return fileInfo(c.files.MakeDir(ctx, &proto.MakeDirRequest{SandboxId: sandboxID, Path: path, Mode: uint32(mode)}))
}

// MoveFile implements [Node].
func (c *Client) MoveFile(ctx context.Context, sandboxID, from, to string, replace bool) (yurt.FileInfo, error) {
	return fileInfo(c.files.Move(ctx, &proto.MoveFileRequest{SandboxId: sandboxID, From: from, To: to, Replace: replace}))
}

// ChmodFile implements [Node].
func (c *Client) ChmodFile(ctx context.Context, sandboxID, path string, mode yurt.FileMode) (yurt.FileInfo, error) {
	return fileInfo(c.files.Chmod(ctx, &proto.ChmodFileRequest{SandboxId: sandboxID, Path: path, Mode: uint32(mode)}))
}

// RemoveFile implements [Node].
func (c *Client) RemoveFile(ctx context.Context, sandboxID, path string, all bool) error {
	_, err := c.files.Remove(ctx, &proto.RemoveFileRequest{SandboxId: sandboxID, Path: path, All: all})
	return err
}
