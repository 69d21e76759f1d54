package api

import (
	"context"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/internal/wire"
	"github.com/yurtrun/yurt/executor/api/proto"
)

// ReserveSandbox implements [Node].
func (c *Client) ReserveSandbox(ctx context.Context, template yurt.Template) (sandbox yurt.Sandbox, err error) {
	data, err := wire.Encode(template)
	if err != nil {
		return sandbox, err
	}
	res, err := c.reserves.Add(ctx, &proto.AddReserveRequest{Template: data})
	if err != nil {
		return sandbox, err
	}
	return sandbox, wire.DecodeAnswer(res.GetSandbox(), &sandbox)
}

// ClaimSandbox implements [Node].
func (c *Client) ClaimSandbox(ctx context.Context, spec yurt.SandboxSpec) (sandbox yurt.Sandbox, found bool, err error) {
	data, err := wire.Encode(spec)
	if err != nil {
		return sandbox, false, err
	}
	res, err := c.reserves.Claim(ctx, &proto.ClaimSandboxRequest{Spec: data})
	if err != nil || len(res.GetSandbox()) == 0 {
		return sandbox, false, err
	}
	return sandbox, true, wire.DecodeAnswer(res.GetSandbox(), &sandbox)
}

// endLimit bounds the wait for the end of a stream whose answer is there.
const endLimit = time.Second

// AwaitSandbox implements [Node]. An answer that has arrived counts, however the stream ends. The client waits for that end, since
// executors of earlier versions destroy the sandbox of a caller that ends the stream before they do.
func (c *Client) AwaitSandbox(ctx context.Context, spec yurt.SandboxSpec, slotID string) (sandbox yurt.Sandbox, err error) {
	data, err := wire.Encode(spec)
	if err != nil {
		return sandbox, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.reserves.Await(ctx, &proto.AwaitSandboxRequest{Spec: data, SlotId: slotID})
	if err != nil {
		return sandbox, err
	}
	res, err := stream.Recv()
	if err != nil {
		return sandbox, err
	}
	defer time.AfterFunc(endLimit, cancel).Stop()
	_, _ = stream.Recv()
	return sandbox, wire.DecodeAnswer(res.GetSandbox(), &sandbox)
}

// Reserves implements [Node].
func (c *Client) Reserves(ctx context.Context) ([]yurt.Reserve, error) {
	res, err := c.reserves.List(ctx, &proto.ListReservesRequest{})
	if err != nil {
		return nil, err
	}
	return wire.DecodeAll[yurt.Reserve](res.GetReserves())
}

// ReleaseReserve implements [Node].
func (c *Client) ReleaseReserve(ctx context.Context, digest string) error {
	_, err := c.reserves.Release(ctx, &proto.ReleaseReserveRequest{Digest: digest})
	return err
}
