package files

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/internal/linux/packet"
)

// FD is the descriptor of the socket that a process which serves files was started with.
const FD = 3

// tagReady is the message of a process that has given up power and begins to serve.
const tagReady = 'r'

// startPatience bounds how long a process may take to begin.
const startPatience = 10 * time.Second

// Run serves the files of all sandboxes of a node over the socket that this process was started with, until the other end is closed.
func Run(ctx context.Context) error {
	socket, err := packet.Open(os.NewFile(FD, "executor"))
	if err != nil {
		return fmt.Errorf("%w; the broker starts this process, and no user does", err)
	}
	if err := packet.Send(socket, []byte{tagReady}, nil); err != nil {
		return errors.Join(err, socket.Close())
	}
	return Serve(ctx, socket, Range{First: idrange.First, Count: idrange.Programs - idrange.First})
}

// AwaitReady waits until the process at the other end of the socket begins to serve.
func AwaitReady(socket *net.UnixConn) error {
	if err := socket.SetReadDeadline(time.Now().Add(startPatience)); err != nil {
		return err
	}
	data, _, err := packet.Receive(socket, make([]byte, 1), 0)
	if err != nil {
		return fmt.Errorf("waiting for the process that serves files: %w", err)
	}
	if data[0] != tagReady {
		return errors.New("the process that serves files begins with a message of another kind")
	}
	return socket.SetReadDeadline(time.Time{})
}
