// Package bells wakes who waits for something on the node to change: a slot, or anything at
// all. It carries no news itself. The executor rings after a change can be seen; who is woken
// looks, and listens again.
package bells

import "sync"

// Any is the name under which every change rings.
const Any = ""

// Bells wake those who wait for something to change, by the name of what changes. A ring
// says that something did, and not how often: who is woken looks.
type Bells struct {
	mu        sync.Mutex
	listeners map[string]map[chan struct{}]struct{} // by name; none is empty
}

// New returns bells that nobody listens to.
func New() *Bells {
	return &Bells{listeners: make(map[string]map[chan struct{}]struct{})}
}

// Listen returns a channel that receives after each ring of the name, until leave.
func (b *Bells) Listen(name string) (rung <-chan struct{}, leave func()) {
	bell := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.listeners[name] == nil {
		b.listeners[name] = make(map[chan struct{}]struct{})
	}
	b.listeners[name][bell] = struct{}{}
	return bell, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if delete(b.listeners[name], bell); len(b.listeners[name]) == 0 {
			delete(b.listeners, name)
		}
	}
}

// Ring wakes who listens to the name, and who listens to all.
func (b *Bells) Ring(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for bell := range b.listeners[Any] {
		wake(bell)
	}
	if name == Any {
		return
	}
	for bell := range b.listeners[name] {
		wake(bell)
	}
}

func wake(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default: // it has not looked since it was woken last
	}
}
