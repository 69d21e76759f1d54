// Package notify tells waiting goroutines that the state of the node has changed: that of one slot, or of any. A
// notification carries no data. The executor notifies after the change is visible; a subscriber then
// reads the state, and waits again.
package notify

import "sync"

// Any is the name that every change notifies.
const Any = ""

// Hub delivers notifications to the subscribers of a name. Notifications that come before a subscriber has
// received the last one are merged. Methods may be called concurrently.
type Hub struct {
	mu          sync.Mutex
	subscribers map[string]map[chan struct{}]struct{} // by name; no map in it is empty
}

// NewHub returns a hub without subscribers.
func NewHub() *Hub {
	return &Hub{subscribers: make(map[string]map[chan struct{}]struct{})}
}

// Subscribe returns a channel that receives after each notification of the name, until cancel is called.
func (h *Hub) Subscribe(name string) (changed <-chan struct{}, cancel func()) {
	channel := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subscribers[name] == nil {
		h.subscribers[name] = make(map[chan struct{}]struct{})
	}
	h.subscribers[name][channel] = struct{}{}
	return channel, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if delete(h.subscribers[name], channel); len(h.subscribers[name]) == 0 {
			delete(h.subscribers, name)
		}
	}
}

// Notify notifies the subscribers of the name and those of [Any].
func (h *Hub) Notify(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for channel := range h.subscribers[Any] {
		send(channel)
	}
	if name == Any {
		return
	}
	for channel := range h.subscribers[name] {
		send(channel)
	}
}

func send(channel chan struct{}) {
	select {
	case channel <- struct{}{}:
	default: // the subscriber has not received the last notification yet
	}
}
