package executor

import "sync"

// anySlot is the name under which every change rings.
const anySlot = ""

// bells wake those who wait for something to change, by the name of what changes. A ring
// says that something did, and not how often: who is woken looks.
type bells struct {
	mu        sync.Mutex
	listeners map[string]map[chan struct{}]struct{} // by name; none is empty
}

func newBells() *bells {
	return &bells{listeners: make(map[string]map[chan struct{}]struct{})}
}

// listen returns a channel that receives after each ring of the name, until leave.
func (b *bells) listen(name string) (rung <-chan struct{}, leave func()) {
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

// ring wakes who listens to the name, and who listens to all.
func (b *bells) ring(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for bell := range b.listeners[anySlot] {
		wake(bell)
	}
	if name == anySlot {
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
