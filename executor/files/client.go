package files

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/linux/packet"
)

// Client opens directories at a server. Its methods may be called concurrently.
type Client struct {
	connect func() (*net.UnixConn, error)

	mu     sync.Mutex
	socket *net.UnixConn // nil before the first directory
	closed bool
}

// NewClient returns a client that connects to a server by the function, and does so again when that server has ended. The caller calls Close.
func NewClient(connect func() (*net.UnixConn, error)) *Client { return &Client{connect: connect} }

// Close ends the connection. Open directories stay open until they are closed.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.socket == nil {
		return nil
	}
	return c.socket.Close()
}

// Open opens a directory, whose file stays the caller's, as a user of the host.
func (c *Client) Open(top *os.File, uid, gid int) (*Dir, error) {
	fd, err := unix.FcntlInt(top.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", top.Name(), err)
	}
	d := &Dir{client: c, top: os.NewFile(uintptr(fd), top.Name()), as: opening{uid, gid}}
	if d.socket, err = c.open(d); err != nil {
		return nil, errors.Join(err, d.top.Close())
	}
	return d, nil
}

// open gives a directory to the server, to the next one if that has ended, and returns the socket for its requests.
func (c *Client) open(d *Dir) (*net.UnixConn, error) {
	ours, theirs, err := packet.Pair("files of a sandbox")
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	err = errEnded
	if c.socket != nil {
		err = send(c.socket, d.as, d.top, theirs)
	}
	if hasEnded(err) {
		if err = c.reconnect(); err == nil {
			err = send(c.socket, d.as, d.top, theirs)
		}
	}
	if err != nil {
		return nil, errors.Join(unavailable(err), ours.Close())
	}
	return ours, nil
}

// errEnded stands for the error of a connection that there is not.
var errEnded = syscall.EPIPE

// hasEnded reports whether a message was not sent because the server has ended.
func hasEnded(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

func (c *Client) reconnect() error {
	if c.closed {
		return fs.ErrClosed
	}
	if c.socket != nil {
		c.socket.Close()
		c.socket = nil
	}
	socket, err := c.connect()
	if err != nil {
		return fmt.Errorf("connecting to the process of files: %w", err)
	}
	c.socket = socket
	return nil
}

// unavailable is the error of a request that found no server.
func unavailable(err error) error {
	var coded *yurt.Error
	if errors.As(err, &coded) {
		return err
	}
	return yurt.Errorf(yurt.CodeUnavailable, "asking the process that serves files: %w; try again", err)
}
