package api

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/proto"
)

// PrepareTemplate implements [Node].
func (c *Client) PrepareTemplate(ctx context.Context, template yurt.Template, tell func(string) error) error {
	data, err := encode(template)
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
