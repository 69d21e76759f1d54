package brokered

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
)

// listenersFD is the first descriptor of the listeners of an executor. The variable has their names in the form of systemd's sockets.
const (
	listenersFD   = statusFD + 1
	namesVariable = "LISTEN_FDNAMES"
)

// Bind opens a listener.
type Bind = func(context.Context) (net.Listener, error)

// Listener is a socket that the broker opens and each executor takes over. Calls wait in it while an executor is away, and it keeps the
// port that the kernel has chosen.
type Listener struct {
	Flag string // that gives the address
	Bind Bind
}

// sockets are the listeners that a broker has open.
type sockets struct {
	files []*os.File // in their order, to be handed on
	open  []io.Closer
}

// openListeners opens the sockets of listeners. The caller closes them.
func openListeners(ctx context.Context, listeners []Listener) (*sockets, error) {
	s := new(sockets)
	for _, l := range listeners {
		if err := s.add(ctx, l); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

func (s *sockets) add(ctx context.Context, l Listener) error {
	listener, err := l.Bind(ctx)
	if err != nil {
		return err
	}
	s.open = append(s.open, listener)
	socket, ok := listener.(interface{ File() (*os.File, error) })
	if !ok {
		return fmt.Errorf("a %T for %s cannot be handed on", listener, l.Flag)
	}
	file, err := socket.File()
	if err != nil {
		return fmt.Errorf("handing on the listener of %s: %w", l.Flag, err)
	}
	s.files, s.open = append(s.files, file), append(s.open, file)
	return nil
}

// close closes the sockets, which executors may have open. The file of a Unix socket goes.
func (s *sockets) close() (err error) {
	for _, open := range s.open {
		err = errors.Join(err, open.Close())
	}
	return err
}

// names is the setting of the variable for an executor that has the listeners, and then the device.
func (b *Broker) names() string {
	flags := make([]string, 0, len(b.Listeners)+1)
	for _, l := range b.Listeners {
		flags = append(flags, l.Flag)
	}
	if b.Latency != nil {
		flags = append(flags, latencyName)
	}
	return namesVariable + "=" + strings.Join(flags, ":")
}

// latencyName names the device that keeps processors awake.
const latencyName = "latency"

// Latency returns the device that keeps processors awake, as the broker has opened it; nil if it has not.
func (e *Executor) Latency() *os.File {
	i := slices.Index(e.handed, latencyName)
	if i < 0 {
		return nil
	}
	return os.NewFile(uintptr(listenersFD+i), latencyName)
}

// Listener returns the way to the broker's listener for a flag, and bind where there is no broker, or it has no such listener.
func (e *Executor) Listener(flag string, bind Bind) Bind {
	if e == nil {
		return bind
	}
	i := slices.Index(e.handed, flag)
	if i < 0 {
		return bind
	}
	return func(context.Context) (net.Listener, error) {
		file := os.NewFile(uintptr(listenersFD+i), flag)
		defer file.Close()
		listener, err := net.FileListener(file)
		if err != nil {
			return nil, fmt.Errorf("taking over the listener of %s from the broker: %w", flag, err)
		}
		return listener, nil
	}
}
