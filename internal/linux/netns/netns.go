// Package netns makes sockets in the network namespaces of other processes.
package netns

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/internal/linux/lockedthread"
)

// backlog bounds how many connections wait to be accepted.
const backlog = 16

// Listen returns a listener at a free port of the loopback interface in the network
// namespace that the file is, one of /proc/PID/ns/net.
func Listen(namespace *os.File) (net.Listener, error) {
	var listener net.Listener
	var err error
	lockedthread.Run(func() {
		if err = unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
			err = fmt.Errorf("entering the network of a sandbox: %w", err)
			return
		}
		listener, err = listenHere()
	})
	return listener, err
}

// listenHere makes the socket by hand: a listener of net's might be made on another thread.
func listenHere() (_ net.Listener, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("making a socket in a sandbox: %w", err)
	}
	file := os.NewFile(uintptr(fd), "listener in a sandbox")
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return nil, fmt.Errorf("binding a socket in a sandbox: %w", err)
	}
	if err := unix.Listen(fd, backlog); err != nil {
		return nil, fmt.Errorf("listening in a sandbox: %w", err)
	}
	listener, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("listening in a sandbox: %w", err)
	}
	return listener, nil
}
