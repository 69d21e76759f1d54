package api

import (
	"context"
	"io"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/internal/wire"
	"github.com/yurtrun/yurt/executor/api/proto"
)

// PackFiles implements [Node].
func (c *Client) PackFiles(ctx context.Context, sandboxID, path string, to io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.files.Pack(ctx, &proto.PackFilesRequest{SandboxId: sandboxID, Path: path})
	if err != nil {
		return err
	}
	return receive(stream.Recv, func(res *proto.PackFilesResponse) error {
		_, err := to.Write(res.GetData())
		return err
	})
}

// UnpackFiles implements [Node].
func (c *Client) UnpackFiles(ctx context.Context, sandboxID, path string, archive io.Reader) (unpacked yurt.Unpacked, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.files.Unpack(ctx)
	if err != nil {
		return unpacked, err
	}
	first := &proto.UnpackFilesRequest{SandboxId: sandboxID, Path: path}
	err = sendAfter(func() error { return stream.Send(first) }, archive, func(data []byte) error {
		return stream.Send(&proto.UnpackFilesRequest{Data: data})
	})
	if err != nil {
		return unpacked, err
	}
	res, err := stream.CloseAndRecv()
	if err != nil {
		return unpacked, err
	}
	return unpacked, wire.DecodeAnswer(res.GetUnpacked(), &unpacked)
}

// WatchFiles implements [Node]. It ends with an error when the connection does.
func (c *Client) WatchFiles(ctx context.Context, sandboxID, path string, deep bool, ready func(), each func(yurt.FileEvent) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.files.Watch(ctx, &proto.WatchFilesRequest{SandboxId: sandboxID, Path: path, Deep: deep})
	if err != nil {
		return err
	}
	if header, err := stream.Header(); err == nil && header != nil {
		ready()
	}
	return receive(stream.Recv, func(res *proto.WatchFilesResponse) error {
		var e yurt.FileEvent
		if err := wire.DecodeAnswer(res.GetEvent(), &e); err != nil {
			return err
		}
		return each(e)
	})
}
