package api

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/internal/wire"
	"github.com/yurtrun/yurt/executor/api/proto"
)

// CreateSandbox implements [Node].
func (c *Client) CreateSandbox(ctx context.Context, spec yurt.SandboxSpec) (sandbox yurt.Sandbox, err error) {
	data, err := wire.Encode(spec)
	if err != nil {
		return sandbox, err
	}
	res, err := c.sandboxes.Create(ctx, &proto.CreateSandboxRequest{Spec: data})
	if err != nil {
		return sandbox, err
	}
	return sandbox, wire.DecodeAnswer(res.GetSandbox(), &sandbox)
}

// DestroySandbox implements [Node].
func (c *Client) DestroySandbox(ctx context.Context, sandboxID string) error {
	_, err := c.sandboxes.Destroy(ctx, &proto.DestroySandboxRequest{SandboxId: sandboxID})
	return err
}

// Sandboxes implements [Node].
func (c *Client) Sandboxes(ctx context.Context) ([]yurt.Sandbox, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	stream, err := c.sandboxes.List(ctx, &proto.ListSandboxesRequest{})
	if err != nil {
		return nil, err
	}
	list := []yurt.Sandbox{}
	err = receive(stream.Recv, func(res *proto.ListSandboxesResponse) error {
		var sandbox yurt.Sandbox
		err := wire.DecodeAnswer(res.GetSandbox(), &sandbox)
		list = append(list, sandbox)
		return err
	})
	return list, err
}

// WatchSandboxes implements [Node]. It ends with an error when the connection does.
func (c *Client) WatchSandboxes(ctx context.Context, died func(yurt.Sandbox)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.sandboxes.Watch(ctx, &proto.WatchSandboxesRequest{})
	if err != nil {
		return err
	}
	return watchEnded(receive(stream.Recv, func(res *proto.WatchSandboxesResponse) error {
		var dead yurt.Sandbox
		if err := wire.DecodeAnswer(res.GetSandbox(), &dead); err != nil {
			return err
		}
		died(dead)
		return nil
	}))
}
