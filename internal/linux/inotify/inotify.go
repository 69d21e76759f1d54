// Package inotify shares one inotify instance of the kernel among any number of subscriptions. The kernel has 128 instances for a
// user by default, so a service that took one for each of its clients would run out of them, and so would its neighbours.
//
// A [Shared] has an instance only while it has subscriptions. Events wait in a bounded queue of their subscription: a
// subscription that does not read loses events and learns that it did, and no other subscription waits for it.
package inotify

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// drainPause is how long the reader lets events gather in the kernel, which merges equal ones, before it reads again. The
	// kernel's queue holds 16,384 events by default; the pause is short enough that a few processors cannot fill it.
	drainPause = 5 * time.Millisecond
	readBuffer = 64 << 10
)

// ErrFull says that the shared instance has as many watches as it may have.
var ErrFull = errors.New("too many files are watched")

// Shared is an inotify instance that comes with the first subscription and goes with the last. Its methods may be called
// concurrently.
type Shared struct {
	most int // watches

	mu   sync.Mutex
	used *instance // nil while there is no subscription
}

// New returns a Shared that has at most so many watches.
func New(most int) *Shared { return &Shared{most: most} }

// instance is one inotify instance of the kernel. The lock of its Shared guards it.
type instance struct {
	file          *os.File
	conn          syscall.RawConn
	watches       map[int32][]*Subscription // by the kernel's number
	subscriptions map[*Subscription]struct{}
	buf           []byte
	closed        chan struct{} // closed when the last subscription leaves
	done          chan struct{} // closed when the reader has ended
}

// Subscribe returns a subscription without watches. The caller closes it.
func (s *Shared) Subscribe() (*Subscription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used == nil {
		one, err := open()
		if err != nil {
			return nil, err
		}
		s.used = one
		go s.read(one)
	}
	sub := &Subscription{shared: s, in: s.used, wake: make(chan struct{}, 1)}
	s.used.subscriptions[sub] = struct{}{}
	return sub, nil
}

func open() (*instance, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("making an inotify instance: %w", err)
	}
	file := os.NewFile(uintptr(fd), "inotify")
	conn, err := file.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &instance{
		file: file, conn: conn, watches: map[int32][]*Subscription{}, subscriptions: map[*Subscription]struct{}{},
		buf: make([]byte, readBuffer), closed: make(chan struct{}), done: make(chan struct{}),
	}, nil
}

// read hands out the events of an instance until that is closed.
func (s *Shared) read(one *instance) {
	defer close(one.done)
	for {
		err := one.conn.Read(func(fd uintptr) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return one.drain(int(fd))
		})
		if err != nil {
			return
		}
		select {
		case <-one.closed:
			return
		case <-time.After(drainPause):
		}
	}
}

// drain hands out all events that wait in the kernel, and reports whether there was one. All reads are made under the lock, so that
// events come in their order, and none that is older than a watch comes to its subscription.
func (one *instance) drain(fd int) (some bool) {
	for {
		n, err := unix.Read(fd, one.buf)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || n <= 0: // no event waits, or the instance is closed
			return some
		default:
			some = true
			one.handOut(one.buf[:n])
		}
	}
}

// handOut puts the events of one read into the queues.
func (one *instance) handOut(buf []byte) {
	for len(buf) >= unix.SizeofInotifyEvent {
		number := int32(binary.NativeEndian.Uint32(buf)) //nolint:gosec // the kernel's own type
		mask := binary.NativeEndian.Uint32(buf[4:])
		size := binary.NativeEndian.Uint32(buf[12:])
		name := buf[unix.SizeofInotifyEvent : unix.SizeofInotifyEvent+size]
		buf = buf[unix.SizeofInotifyEvent+size:]
		if mask&unix.IN_Q_OVERFLOW != 0 {
			for sub := range one.subscriptions {
				sub.lose()
			}
			continue
		}
		for _, sub := range one.watches[number] {
			sub.put(number, mask, name)
		}
		if mask&unix.IN_IGNORED != 0 {
			delete(one.watches, number)
		}
	}
}

// maxPending bounds the events in the queue of a subscription, in bytes.
const maxPending = 256 << 10

// Event is a change at one watch. An event with IN_IGNORED is the last of its watch.
type Event struct {
	Watch int32
	Mask  uint32
	Name  string // in the directory that is watched; "" for the directory or file itself
}

// size is how many bytes of the queue the event takes.
func size(name string) int { return 32 + len(name) }

// Subscription has watches of its own and a queue of their events. One goroutine at a time may use it.
type Subscription struct {
	shared *Shared
	in     *instance
	wake   chan struct{} // holds a value while there is something in the queue

	events  []Event // guarded by the lock of shared, as are those below
	pending int     // bytes
	lost    bool
}

// put adds an event to the queue. The end of a watch has room always: a subscription has a bounded number of them.
func (sub *Subscription) put(watch int32, mask uint32, name []byte) {
	if sub.pending > maxPending && mask&unix.IN_IGNORED == 0 {
		sub.lose()
		return
	}
	text, _, _ := strings.Cut(string(name), "\x00")
	sub.events = append(sub.events, Event{watch, mask, text})
	sub.pending += size(text)
	sub.rouse()
}

func (sub *Subscription) lose() {
	sub.lost = true
	sub.rouse()
}

func (sub *Subscription) rouse() {
	select {
	case sub.wake <- struct{}{}:
	default:
	}
}

// Wake returns the channel that has a value when Take has something to return.
func (sub *Subscription) Wake() <-chan struct{} { return sub.wake }

// Take returns the events since the last call. lost says that the ones after them were dropped.
func (sub *Subscription) Take() (events []Event, lost bool) {
	sub.shared.mu.Lock()
	defer sub.shared.mu.Unlock()
	events, lost = sub.events, sub.lost
	sub.events, sub.pending, sub.lost = nil, 0, false
	return events, lost
}

// Add watches the file or directory at path for the events in mask, which must be the same for all subscriptions that may watch it. It
// returns the number of the watch: the same as before if the subscription has it already.
func (sub *Subscription) Add(path string, mask uint32) (int32, error) {
	sub.shared.mu.Lock()
	defer sub.shared.mu.Unlock()
	if len(sub.in.watches) >= sub.shared.most {
		return 0, ErrFull
	}
	var number int
	var err error
	if failed := sub.in.conn.Control(func(fd uintptr) {
		sub.in.drain(int(fd)) // events from before this watch, should others have it
		number, err = unix.InotifyAddWatch(int(fd), path, mask)
	}); failed != nil {
		return 0, failed
	}
	if err != nil {
		return 0, err
	}
	if have := sub.in.watches[int32(number)]; !slices.Contains(have, sub) {
		sub.in.watches[int32(number)] = append(have, sub)
	}
	return int32(number), nil
}

// Remove ends a watch. Events of it may be in the queue still.
func (sub *Subscription) Remove(watch int32) {
	sub.shared.mu.Lock()
	defer sub.shared.mu.Unlock()
	sub.remove(watch)
}

func (sub *Subscription) remove(watch int32) {
	have := sub.in.watches[watch]
	at := slices.Index(have, sub)
	if at < 0 {
		return // it has ended by itself
	}
	if have = slices.Delete(have, at, at+1); len(have) > 0 {
		sub.in.watches[watch] = have
		return
	}
	delete(sub.in.watches, watch)
	_ = sub.in.conn.Control(func(fd uintptr) {
		_, _ = unix.InotifyRmWatch(int(fd), uint32(watch)) //nolint:gosec // the kernel's own type; the watch may have ended
	})
}

// Close ends all watches of the subscription.
func (sub *Subscription) Close() {
	if last := sub.leave(); last != nil {
		last.file.Close()
		<-last.done
	}
}

// leave returns the instance if the subscription was its last.
func (sub *Subscription) leave() *instance {
	sub.shared.mu.Lock()
	defer sub.shared.mu.Unlock()
	if _, ok := sub.in.subscriptions[sub]; !ok {
		return nil
	}
	delete(sub.in.subscriptions, sub)
	if len(sub.in.subscriptions) == 0 {
		close(sub.in.closed)
		sub.shared.used = nil
		return sub.in
	}
	for watch, have := range sub.in.watches {
		if slices.Contains(have, sub) {
			sub.remove(watch)
		}
	}
	return nil
}
