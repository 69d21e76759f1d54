package driver

import (
	"sync"

	drivers "github.com/hashicorp/nomad/plugins/drivers/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// maxEvents is how many events wait for a client that does not take them; the rest are
// dropped.
const maxEvents = 64

// events are messages about tasks from times without a call that could return them. The zero value is ready.
type events struct {
	mu       sync.Mutex
	watchers map[chan *drivers.DriverTaskEvent]struct{}
}

// watch returns a channel of the messages from now on, until stop is called.
func (e *events) watch() (said <-chan *drivers.DriverTaskEvent, stop func()) {
	c := make(chan *drivers.DriverTaskEvent, maxEvents)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.watchers == nil {
		e.watchers = make(map[chan *drivers.DriverTaskEvent]struct{})
	}
	e.watchers[c] = struct{}{}
	return c, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.watchers, c)
	}
}

// say passes a message to the watchers.
func (e *events) say(config *drivers.TaskConfig, message string) {
	event := &drivers.DriverTaskEvent{
		TaskId: config.GetId(), AllocId: config.GetAllocId(), TaskName: config.GetName(), Timestamp: timestamppb.Now(), Message: message,
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range e.watchers {
		select {
		case c <- event:
		default:
		}
	}
}

// TaskEvents implements the service: how the pull of an image goes. All else that there is
// to say of a task Nomad hears as the answer to a call.
func (s *driverServer) TaskEvents(_ *drivers.TaskEventsRequest, stream drivers.Driver_TaskEventsServer) error {
	said, stop := s.driver.events.watch()
	defer stop()
	for {
		select {
		case event := <-said:
			if err := stream.Send(event); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return nil
		case <-s.driver.ctx.Done():
			return nil
		}
	}
}
