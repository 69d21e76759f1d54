package api

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/internal/wire"
	"github.com/yurtrun/yurt/executor/api/proto"
)

// PrepareTemplate implements [Node].
func (c *Client) PrepareTemplate(ctx context.Context, template yurt.Template, tell func(string) error) error {
	data, err := wire.Encode(template)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.node.PrepareTemplate(ctx, &proto.PrepareTemplateRequest{Template: data})
	if err != nil {
		return err
	}
	return receive(stream.Recv, func(res *proto.PrepareTemplateResponse) error { return tell(string(res.GetText())) })
}

// PrepareImage implements [Node].
func (c *Client) PrepareImage(ctx context.Context, reference string, tell func(string) error) (image yurt.ImageInfo, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.node.PrepareImage(ctx, &proto.PrepareImageRequest{Reference: reference})
	if err != nil {
		return image, err
	}
	err = receive(stream.Recv, func(res *proto.PrepareImageResponse) error {
		if data := res.GetImage(); len(data) > 0 {
			return wire.DecodeAnswer(data, &image)
		}
		return tell(string(res.GetText()))
	})
	if err == nil && image.Digest == "" {
		err = yurt.Errorf(yurt.CodeUnavailable, "the executor's answer does not describe the image")
	}
	return image, err
}
