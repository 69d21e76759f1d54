package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"github.com/yurtrun/yurt/executor/failure"
	"github.com/yurtrun/yurt/executor/workspace"
	"github.com/yurtrun/yurt/internal/linux/inotify"
	"github.com/yurtrun/yurt/internal/linux/packet"
)

const (
	// underWay is how many requests are carried out at the same time. The next one waits in the socket of its directory.
	underWay = 512
	// maxDirs is how many directories may be open: three for each of the sandboxes that a node can have, and for those that end.
	maxDirs = 16384
)

// Range has the ids that sandboxes of a node may have on the host.
type Range struct{ First, Count int }

func (r Range) has(id int) bool { return id >= r.First && id-r.First < r.Count }

// Serve serves directories to the other end of the socket until that is closed. It fails with the reason if a broken message comes, or if ctx
// ends. It closes the socket, and returns when no request is under way any more.
func Serve(ctx context.Context, socket *net.UnixConn, ids Range) error {
	ctx, cancel := context.WithCancel(ctx)
	s := &server{
		ctx: ctx, ids: ids, watches: inotify.New(workspace.MaxDirs), room: make(chan struct{}, underWay), dirs: make(chan struct{}, maxDirs),
	}
	defer s.running.Wait()
	defer socket.Close()
	defer cancel()
	defer context.AfterFunc(ctx, func() { socket.Close() })()
	for {
		err := s.open(socket)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("taking a directory: %w", err)
		}
	}
}

// server is one connection.
type server struct {
	ctx     context.Context //nolint:containedctx // of the connection, which its requests inherit
	ids     Range
	watches *inotify.Shared
	room    chan struct{} // one element for each request under way
	dirs    chan struct{} // one element for each open directory
	running sync.WaitGroup
}

// open takes a directory over, and begins to serve it.
func (s *server) open(socket *net.UnixConn) error {
	var o opening
	files, err := takeIn(socket, &o, 2)
	if err != nil {
		return err
	}
	defer files[0].Close()
	requests, err := packet.Open(files[1])
	if err != nil {
		return err
	}
	select {
	case s.dirs <- struct{}{}:
	default:
		return errors.Join(fmt.Errorf("%d directories are open, and no more may be", maxDirs), requests.Close())
	}
	dir, err := s.dir(files[0], o)
	s.running.Go(func() {
		defer func() { <-s.dirs }()
		s.serve(requests, dir, err)
	})
	return nil
}

func (s *server) dir(file *os.File, o opening) (*workspace.Dir, error) {
	if !s.ids.has(o.UID) || !s.ids.has(o.GID) {
		return nil, fmt.Errorf("no sandbox has the user %d and the group %d", o.UID, o.GID)
	}
	return workspace.Open(file, o.UID, o.GID)
}

// serve begins the requests of one directory until its socket ends. All of them fail if the directory could not be opened.
func (s *server) serve(requests *net.UnixConn, dir *workspace.Dir, failed error) {
	var under sync.WaitGroup
	defer under.Wait()
	defer requests.Close()
	defer context.AfterFunc(s.ctx, func() { requests.Close() })()
	if dir != nil {
		defer dir.Close()
	}
	for {
		var r request
		files, err := takeIn(requests, &r, 1)
		if err != nil {
			return
		}
		socket, err := packet.Open(files[0])
		if err != nil {
			return
		}
		select {
		case s.room <- struct{}{}:
		case <-s.ctx.Done():
			socket.Close()
			return
		}
		under.Go(func() {
			defer func() { <-s.room }()
			defer context.AfterFunc(s.ctx, func() { socket.Close() })()
			c := call{request: r, dir: dir, socket: socket, watches: s.watches}
			c.answer(s.ctx, failed)
		})
	}
}

// call is a request under way.
type call struct {
	request

	dir     *workspace.Dir
	socket  *net.UnixConn
	watches *inotify.Shared
}

// result is the outcome of a call that succeeds.
type result struct {
	value any
	file  io.Closer // an [os.File], or a listener
}

// answer carries the request out, unless it failed already, and closes its socket.
func (c *call) answer(ctx context.Context, failed error) {
	defer c.socket.Close()
	var r result
	do := operations()[c.Op]
	switch {
	case failed != nil:
	case do == nil:
		failed = fmt.Errorf("there is no request %q for files", c.Op)
	default:
		r, failed = do(c, ctx)
	}
	if r.file != nil {
		defer r.file.Close()
	}
	if failed == nil {
		failed = c.send(r)
	}
	if failed != nil {
		_ = send(c.socket, answer{Error: failure.New(failed)}) // the caller may have left
	}
}

func (c *call) send(r result) error {
	value, err := marshal(r.value)
	if err != nil {
		return err
	}
	switch file := r.file.(type) {
	case nil:
		return send(c.socket, answer{Value: value})
	case *os.File:
		return send(c.socket, answer{Value: value}, file)
	case *net.UnixListener:
		copied, err := file.File()
		if err != nil {
			return fmt.Errorf("passing a listener on: %w", err)
		}
		defer copied.Close()
		return send(c.socket, answer{Value: value}, copied)
	default:
		return fmt.Errorf("passing on a %T", file)
	}
}

// whileThere runs do with a context that ends when the caller leaves.
func (c *call) whileThere(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	left := make(chan struct{})
	go func() {
		defer close(left)
		defer cancel()
		_, _ = c.socket.Read(make([]byte, 1)) // a caller that is there sends no byte
	}()
	err := do(ctx)
	_ = c.socket.CloseRead() // ends the goroutine
	<-left
	return err
}
