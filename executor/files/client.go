package files

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/linux/packet"
)

// Client opens directories at a server. Its methods may be called concurrently.
type Client struct {
	connect func() (*net.UnixConn, error)

	mu      sync.Mutex
	present *peer // nil before the first directory
	closed  bool

	ahead sync.WaitGroup // of Prepare
}

// peer is a server as its client sees it.
type peer struct {
	socket *net.UnixConn
	ended  atomic.Bool // a request of it has ended without an answer, or could not be sent
}

// NewClient returns a client that connects to a server by the function, and does so again when that server has ended. The caller calls Close.
func NewClient(connect func() (*net.UnixConn, error)) *Client { return &Client{connect: connect} }

// Prepare connects to a server beside the caller, so that the first directory waits for less. That one fails if no connection comes about.
func (c *Client) Prepare() {
	c.ahead.Go(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.present == nil {
			_ = c.reconnect()
		}
	})
}

// Close ends the connection. Open directories stay open until they are closed.
func (c *Client) Close() error {
	defer c.ahead.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.present == nil {
		return nil
	}
	return c.present.socket.Close()
}

// Open opens a directory, whose file stays the caller's, as a user of the host. Again opens it once more, for another server.
func (c *Client) Open(top *os.File, again func() (*os.File, error), uid, gid int) (*Dir, error) {
	d := &Dir{client: c, again: again, as: opening{uid, gid}}
	var err error
	if d.server, d.socket, err = c.open(top, d.as); err != nil {
		return nil, err
	}
	return d, nil
}

// open gives a directory to the server, to the next one if that has ended, and returns it with the socket for requests.
func (c *Client) open(top *os.File, as opening) (*peer, *net.UnixConn, error) {
	ours, theirs, err := packet.Pair("files of a sandbox")
	if err != nil {
		return nil, nil, err
	}
	defer theirs.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	err = errEnded
	if c.present != nil && !c.present.ended.Load() {
		err = send(c.present.socket, as, top, theirs)
	}
	if hasEnded(err) {
		if err = c.reconnect(); err == nil {
			err = send(c.present.socket, as, top, theirs)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(unavailable(err), ours.Close())
	}
	return c.present, ours, nil
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
	if c.present != nil {
		c.present.socket.Close()
		c.present = nil
	}
	socket, err := c.connect()
	if err != nil {
		return fmt.Errorf("connecting to the process of files: %w", err)
	}
	c.present = &peer{socket: socket}
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
