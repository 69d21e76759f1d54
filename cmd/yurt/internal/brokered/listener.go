package brokered

import (
	"context"
	"errors"
	"fmt"
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

// openListeners opens the sockets of TCP listeners, in their order. The caller closes the files.
func openListeners(ctx context.Context, listeners []Listener) (files []*os.File, err error) {
	for _, l := range listeners {
		file, err := l.open(ctx)
		if err != nil {
			return nil, errors.Join(err, closeAll(files))
		}
		files = append(files, file)
	}
	return files, nil
}

func (l Listener) open(ctx context.Context) (*os.File, error) {
	listener, err := l.Bind(ctx)
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	socket, ok := listener.(*net.TCPListener)
	if !ok {
		return nil, fmt.Errorf("a %T for %s cannot be handed on", listener, l.Flag)
	}
	return socket.File()
}

func closeAll(files []*os.File) (err error) {
	for _, file := range files {
		err = errors.Join(err, file.Close())
	}
	return err
}

// names is the setting of the variable for an executor that has the listeners.
func names(listeners []Listener) string {
	flags := make([]string, 0, len(listeners))
	for _, l := range listeners {
		flags = append(flags, l.Flag)
	}
	return namesVariable + "=" + strings.Join(flags, ":")
}

// Listener returns the way to the broker's listener for a flag, and bind where there is no broker, or it has no such listener.
func (e *Executor) Listener(flag string, bind Bind) Bind {
	if e == nil {
		return bind
	}
	i := slices.Index(e.listeners, flag)
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
