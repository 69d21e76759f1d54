package api

import (
	"context"
	"errors"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/internal/wire"
	"github.com/yurtrun/yurt/executor/api/proto"
)

// OpenSlot implements [Node].
func (c *Client) OpenSlot(ctx context.Context, spec yurt.SlotSpec) (slot yurt.Slot, err error) {
	data, err := wire.Encode(spec)
	if err != nil {
		return slot, err
	}
	res, err := c.slots.Open(ctx, &proto.OpenSlotRequest{Spec: data})
	if err != nil {
		return slot, err
	}
	return slot, wire.DecodeAnswer(res.GetSlot(), &slot)
}

// CloseSlot implements [Node].
func (c *Client) CloseSlot(ctx context.Context, id string) error {
	_, err := c.slots.Close(ctx, &proto.CloseSlotRequest{SlotId: id})
	return err
}

// WaitSlot implements [Node]. It goes on waiting when the executor is started again, and
// gives up when that takes long.
func (c *Client) WaitSlot(ctx context.Context, id string) (yurt.Slot, error) {
	for lost := time.Now(); ; {
		slot, err := c.waitSlot(ctx, id, func() { lost = time.Now() })
		if yurt.CodeOf(err) != yurt.CodeUnavailable || time.Since(lost) > patience {
			return slot, err
		}
		select {
		case <-ctx.Done():
			return yurt.Slot{}, ctx.Err()
		case <-time.After(retryLeast):
		}
	}
}

// waitSlot waits until the slot has ended, or the connection. It calls heard while the
// executor is there.
func (c *Client) waitSlot(ctx context.Context, id string, heard func()) (slot yurt.Slot, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.slots.Wait(ctx, &proto.WaitSlotRequest{SlotId: id})
	if err != nil {
		return slot, err
	}
	res, err := stream.Recv()
	if header, failed := stream.Header(); failed == nil && header != nil {
		heard()
	}
	if err != nil {
		return slot, err
	}
	return slot, wire.DecodeAnswer(res.GetSlot(), &slot)
}

// Slots implements [Node].
func (c *Client) Slots(ctx context.Context) ([]yurt.Slot, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	stream, err := c.slots.List(ctx, &proto.ListSlotsRequest{})
	if err != nil {
		return nil, err
	}
	list := []yurt.Slot{}
	err = receive(stream.Recv, func(res *proto.ListSlotsResponse) error {
		var slot yurt.Slot
		err := wire.DecodeAnswer(res.GetSlot(), &slot)
		list = append(list, slot)
		return err
	})
	return list, err
}

// WatchSlots implements [Node]. It ends with an error when the connection does.
func (c *Client) WatchSlots(ctx context.Context, id string, each func([]yurt.Slot) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.slots.Watch(ctx, &proto.WatchSlotsRequest{SlotId: id})
	if err != nil {
		return err
	}
	var list []yurt.Slot
	err = receive(stream.Recv, func(res *proto.WatchSlotsResponse) error {
		part, err := wire.DecodeAll[yurt.Slot](res.GetSlots())
		if list = append(list, part...); err != nil || res.GetMore() {
			return err
		}
		whole := list
		list = nil
		return each(whole)
	})
	return watchEnded(err)
}

// RetireSlots implements [Node].
func (c *Client) RetireSlots(ctx context.Context, digest string, most int) ([]string, error) {
	res, err := c.slots.Retire(ctx, &proto.RetireSlotsRequest{Digest: digest, Most: uint32(max(0, most))})
	return res.GetSlotIds(), err
}

// watchEnded is the error with which a watch ends that its caller did not end.
func watchEnded(err error) error {
	if err == nil {
		return yurt.Errorf(yurt.CodeUnavailable, "the executor ended the watch")
	}
	return err
}

// SetDraining implements [Node].
func (c *Client) SetDraining(ctx context.Context, draining bool) error {
	_, err := c.node.SetDraining(ctx, &proto.SetDrainingRequest{Draining: draining})
	return err
}

// WatchCapacity implements [Node]. It ends with an error when the connection does.
func (c *Client) WatchCapacity(ctx context.Context, each func(yurt.Capacity) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.node.WatchCapacity(ctx, &proto.WatchCapacityRequest{})
	if err != nil {
		return err
	}
	return watchEnded(receive(stream.Recv, func(res *proto.WatchCapacityResponse) error {
		var capacity yurt.Capacity
		if err := wire.DecodeAnswer(res.GetCapacity(), &capacity); err != nil {
			return err
		}
		return each(capacity)
	}))
}

// Capacity returns the executor's present capacity.
func (c *Client) Capacity(ctx context.Context) (capacity yurt.Capacity, err error) {
	seen := errors.New("seen")
	err = c.WatchCapacity(ctx, func(now yurt.Capacity) error { capacity = now; return seen })
	if errors.Is(err, seen) {
		err = nil
	}
	return capacity, err
}
