package api

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/internal/wire"
	"github.com/yurtrun/yurt/executor/api/proto"
)

// slotServer serves slots.
type slotServer struct {
	proto.UnimplementedSlotsServer
	node Slots
}

// requireLocal refuses callers that are not on this machine.
func requireLocal(ctx context.Context, what string) error {
	if caller, ok := peer.FromContext(ctx); ok {
		if _, local := caller.AuthInfo.(localInfo); local {
			return nil
		}
	}
	return yurt.Errorf(yurt.CodeForbidden, "%s is for callers on the node itself, by the executor's Unix socket", what)
}

func (s *slotServer) Open(ctx context.Context, req *proto.OpenSlotRequest) (*proto.OpenSlotResponse, error) {
	if err := requireLocal(ctx, "opening a slot"); err != nil {
		return nil, err
	}
	var spec yurt.SlotSpec
	if err := wire.DecodeRequest(req.GetSpec(), &spec); err != nil {
		return nil, err
	}
	slot, err := s.node.OpenSlot(ctx, spec)
	if err != nil {
		return nil, err
	}
	data, err := wire.Encode(slot)
	return &proto.OpenSlotResponse{Slot: data}, err
}

func (s *slotServer) Close(ctx context.Context, req *proto.CloseSlotRequest) (*proto.CloseSlotResponse, error) {
	if err := requireLocal(ctx, "closing a slot"); err != nil {
		return nil, err
	}
	return &proto.CloseSlotResponse{}, s.node.CloseSlot(ctx, req.GetSlotId())
}

func (s *slotServer) Wait(req *proto.WaitSlotRequest, stream grpc.ServerStreamingServer[proto.WaitSlotResponse]) error {
	if err := stream.SendHeader(nil); err != nil { // the header tells the waiting caller that the server heard it
		return err
	}
	slot, err := s.node.WaitSlot(stream.Context(), req.GetSlotId())
	if err != nil {
		return err
	}
	data, err := wire.Encode(slot)
	if err != nil {
		return err
	}
	return stream.Send(&proto.WaitSlotResponse{Slot: data})
}

func (s *slotServer) List(_ *proto.ListSlotsRequest, stream grpc.ServerStreamingServer[proto.ListSlotsResponse]) error {
	list, err := s.node.Slots(stream.Context())
	if err != nil {
		return err
	}
	for _, slot := range list {
		data, err := wire.Encode(slot)
		if err != nil {
			return err
		}
		if err := stream.Send(&proto.ListSlotsResponse{Slot: data}); err != nil {
			return err
		}
	}
	return nil
}

// maxSlots is how many slots go in one message.
const maxSlots = 256

func (s *slotServer) Watch(req *proto.WatchSlotsRequest, stream grpc.ServerStreamingServer[proto.WatchSlotsResponse]) error {
	return s.node.WatchSlots(stream.Context(), req.GetSlotId(), func(list []yurt.Slot) error {
		data, err := wire.EncodeAll(list)
		if err != nil {
			return err
		}
		for len(data) > maxSlots {
			if err := stream.Send(&proto.WatchSlotsResponse{Slots: data[:maxSlots], More: true}); err != nil {
				return err
			}
			data = data[maxSlots:]
		}
		return stream.Send(&proto.WatchSlotsResponse{Slots: data})
	})
}

// Retire is for controllers too: it takes no slot that is in use.
func (s *slotServer) Retire(ctx context.Context, req *proto.RetireSlotsRequest) (*proto.RetireSlotsResponse, error) {
	ids, err := s.node.RetireSlots(ctx, req.GetDigest(), int(req.GetMost()))
	return &proto.RetireSlotsResponse{SlotIds: ids}, err
}

func (s *nodeServer) SetDraining(ctx context.Context, req *proto.SetDrainingRequest) (*proto.SetDrainingResponse, error) {
	return &proto.SetDrainingResponse{}, s.config.Node.SetDraining(ctx, req.GetDraining())
}

func (s *nodeServer) WatchCapacity(_ *proto.WatchCapacityRequest, stream grpc.ServerStreamingServer[proto.WatchCapacityResponse]) error {
	return s.config.Node.WatchCapacity(stream.Context(), func(c yurt.Capacity) error {
		data, err := wire.Encode(c)
		if err != nil {
			return err
		}
		return stream.Send(&proto.WatchCapacityResponse{Capacity: data})
	})
}
