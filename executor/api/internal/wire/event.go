package wire

import (
	"errors"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/api/proto"
)

// Assembler puts events together from their messages.
type Assembler struct{ head, data Document }

// Add takes the next message, and calls each when it completes an event.
func (a *Assembler) Add(res *proto.WatchExecutionResponse, each func(yurt.Event) error) error {
	if err := errors.Join(a.head.Add(res.GetEvent()), a.data.Add(res.GetData())); err != nil || res.GetMore() {
		return err
	}
	var e yurt.Event
	if err := DecodeAnswer(a.head.Bytes(), &e); err != nil {
		return err
	}
	if a.data.Len() > 0 {
		e.Data = a.data.Bytes()
	}
	*a = Assembler{} // the event belongs to the watcher
	return each(e)
}

// SendEvent sends an event: its description first, and then its data.
func SendEvent(e yurt.Event, send func(*proto.WatchExecutionResponse) error) error {
	head, err := Encode(e)
	if err != nil {
		return err
	}
	if len(head)+len(e.Data) <= MaxPart {
		return send(&proto.WatchExecutionResponse{Event: head, Data: e.Data})
	}
	err = Parts(head, func(part []byte, more bool) error {
		return send(&proto.WatchExecutionResponse{Event: part, More: more || len(e.Data) > 0})
	})
	if err != nil || len(e.Data) == 0 {
		return err
	}
	return Parts(e.Data, func(part []byte, more bool) error {
		return send(&proto.WatchExecutionResponse{Data: part, More: more})
	})
}
