package initd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// socketPath returns a path to the socket at name that fits into a socket address, however long the directory's path
// is. It is valid while dir is open.
func socketPath(dir *os.File, name string) string {
	return filepath.Join("/proc/self/fd", strconv.Itoa(int(dir.Fd())), filepath.Base(name))
}

// Listen makes the socket at path, to be handed to yurt-init.
func Listen(path string) (*os.File, error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("listening for yurt-init: %w", err)
	}
	defer dir.Close()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socketPath(dir, path), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listening at %s: %w", path, err)
	}
	listener.SetUnlinkOnClose(false)
	defer listener.Close()
	return listener.File()
}

// Client talks to the yurt-init behind one socket. Its methods may be called
// concurrently.
type Client struct {
	path string

	mu     sync.Mutex
	idle   *net.UnixConn // idle connection of a forgotten process, for the next request; may be nil
	closed bool
}

// NewClient returns a client of the yurt-init that listens at path.
func NewClient(path string) *Client { return &Client{path: path} }

// Close closes the connection that is kept for the next process. The client keeps no connection afterwards.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.idle != nil {
		c.idle.Close()
		c.idle = nil
	}
}

// keep takes over a connection on which yurt-init waits for the next request. One is enough:
// most executions come one after another.
func (c *Client) keep(conn *net.UnixConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.idle != nil {
		conn.Close()
		return
	}
	c.idle = conn
}

// take returns the connection that was kept, or nil.
func (c *Client) take() *net.UnixConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	conn := c.idle
	c.idle = nil
	return conn
}

func (c *Client) dial(ctx context.Context) (*net.UnixConn, error) {
	dir, err := os.Open(filepath.Dir(c.path))
	if err != nil {
		return nil, fmt.Errorf("connecting to yurt-init: %w", err)
	}
	defer dir.Close()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socketPath(dir, c.path))
	if err != nil {
		return nil, fmt.Errorf("connecting to yurt-init: %w", err)
	}
	return conn.(*net.UnixConn), nil
}

// call sends one request that is answered with KindOK.
func (c *Client) call(ctx context.Context, kind Kind, message any, files ...*os.File) error {
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = ask(ctx, conn, kind, message, files...)
	return err
}

// ask is call on the connection, and returns the answer.
func ask(ctx context.Context, conn *net.UnixConn, kind Kind, message any, files ...*os.File) (frame Frame, err error) {
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if !stop() { // the connection is of no use any more
			err = fmt.Errorf("waiting for yurt-init: %w", errors.Join(ctx.Err(), err))
		}
	}()
	request, err := EncodeMessage(kind, message)
	if err != nil {
		return frame, err
	}
	if err := writeWithFiles(conn, request, files); err != nil {
		return frame, fmt.Errorf("asking yurt-init: %w", err)
	}
	if frame, err = NewReader(conn).Next(); err != nil {
		return frame, fmt.Errorf("waiting for yurt-init: %w", err)
	}
	return frame, frame.expect(KindOK)
}

// expect returns the failure in the frame, or an error if it is not of the kind.
func (f Frame) expect(kind Kind) error {
	switch f.Kind {
	case kind:
		return nil
	case KindError:
		failure := new(Failure)
		if err := f.Decode(failure); err != nil {
			return err
		}
		return failure
	default:
		return fmt.Errorf("expected a %q frame, got %q", kind, f.Kind)
	}
}

// Ping returns when yurt-init answers. The first process is asked for on its connection.
func (c *Client) Ping(ctx context.Context) error {
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	frame, err := ask(ctx, conn, KindPing, nil)
	var ready Ready
	if err == nil && len(frame.Payload) > 0 {
		err = frame.Decode(&ready)
	}
	if err != nil || !ready.Keeps {
		conn.Close()
		return err
	}
	c.keep(conn)
	return nil
}

// Forget lets yurt-init drop the record and the output of an ended process.
func (c *Client) Forget(ctx context.Context, id string) error {
	return c.call(ctx, KindForget, ProcessRequest{ID: id})
}

// Signal sends a signal to the process and its process group.
func (c *Client) Signal(ctx context.Context, id string, signal syscall.Signal) error {
	return c.call(ctx, KindSignal, SignalRequest{ID: id, Signal: int(signal)})
}

// SignalAlone sends a signal to the process, and to no other of its group.
func (c *Client) SignalAlone(ctx context.Context, id string, signal syscall.Signal) error {
	return c.call(ctx, KindSignal, SignalRequest{ID: id, Signal: int(signal), Alone: true})
}

// Place has the process that would serve the next request to a zygote moved into the cgroup
// whose cgroup.procs the file is. If that fails, some process of the sandbox may be in it.
func (c *Client) Place(ctx context.Context, zygote string, procs *os.File) error {
	return c.call(ctx, KindPlace, PlaceRequest{Zygote: zygote}, procs)
}

// Input gives the process data to read, and after it the end of its stdin if eof is
// set. It waits while the process does not read; when ctx ends first, a part of data
// may have been taken.
func (c *Client) Input(ctx context.Context, id string, data []byte, eof bool) error {
	for {
		n := min(len(data), MaxInput)
		last := n == len(data)
		if err := c.call(ctx, KindInput, InputRequest{ID: id, Data: data[:n], EOF: eof && last}); err != nil || last {
			return err
		}
		data = data[n:]
	}
}

// Resize gives the terminal of the process another size.
func (c *Client) Resize(ctx context.Context, id string, size WindowSize) error {
	return c.call(ctx, KindResize, ResizeRequest{ID: id, Size: size})
}

// Start starts a process and returns its output. The files are passed as they
// are and stay the caller's to close.
func (c *Client) Start(ctx context.Context, req StartRequest, files []*os.File) (*Output, Begun, error) {
	return c.open(ctx, KindStart, req, files, nil)
}

// StartWhile is [Client.Start] and does something of its caller's while yurt-init starts the
// process. If that fails, the process may have been started all the same.
func (c *Client) StartWhile(ctx context.Context, req StartRequest, files []*os.File, do func() error) (*Output, Begun, error) {
	return c.open(ctx, KindStart, req, files, do)
}

// AttachBeyond is [Client.Attach] for a host that may have acknowledged more than it remembers: the first chunk may
// have any number above after.
func (c *Client) AttachBeyond(ctx context.Context, id string, after uint64) (*Output, error) {
	out, err := c.Attach(ctx, id, after)
	if err != nil {
		return nil, err
	}
	out.gap = true
	return out, nil
}

// Attach returns the output of a process after the given chunk.
func (c *Client) Attach(ctx context.Context, id string, after uint64) (*Output, error) {
	out, _, err := c.open(ctx, KindAttach, AttachRequest{ID: id, After: after}, nil, nil)
	if err != nil {
		return nil, err
	}
	out.seq = after
	return out, nil
}

// open sends a request that is answered with [KindBegun] and then with output, and does
// something until it is. It ends with ctx, the output does not.
func (c *Client) open(ctx context.Context, kind Kind, message any, files []*os.File, meanwhile func() error) (*Output, Begun, error) {
	conn := c.take()
	if conn == nil {
		var err error
		if conn, err = c.dial(ctx); err != nil {
			return nil, Begun{}, err
		}
	}
	out := &Output{client: c, conn: conn, reader: NewReader(bufio.NewReader(conn))} // buffered: after the exit there is no payload to read ahead
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	begun, err := out.begin(kind, message, files, meanwhile)
	if !stop() {
		err = fmt.Errorf("waiting for yurt-init: %w", errors.Join(ctx.Err(), err))
	}
	if err != nil {
		conn.Close()
		return nil, Begun{}, err
	}
	out.keeps = begun.Keeps
	return out, begun, nil
}

// writeWithFiles sends the descriptors with the first byte of the frame.
func writeWithFiles(conn *net.UnixConn, frame []byte, files []*os.File) error {
	if len(files) == 0 {
		_, err := conn.Write(frame)
		return err
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	n, _, err := conn.WriteMsgUnix(frame, syscall.UnixRights(fds...), nil)
	if err != nil {
		return err
	}
	if n < len(frame) { // not an empty write: the peer may have answered and left already
		_, err = conn.Write(frame[n:])
	}
	return err
}
