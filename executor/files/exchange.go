package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
	"github.com/yurtrun/yurt/internal/linux/packet"
)

const (
	// patience bounds how long the caller of a short request waits for its answer.
	patience = time.Minute
	// maxEntry bounds the text of an entry in a list, on average. A path has 4096 bytes at most, of which each may take six in JSON.
	maxEntry = 16 << 10
)

// exchange says which content and which answer a request has.
type exchange struct {
	from  io.Reader          // content for the server, unless nil
	to    func([]byte) error // takes content from the server, unless nil
	value any                // a pointer for the value, unless nil
	file  **os.File          // the file of the answer, which the caller closes, unless nil

	// again prepares the request to be made once more, after a server that ended may have carried it out. It is nil where that could have
	// another effect or another answer than one request.
	again func() error
}

// same is for requests that may be made twice as they are.
func same() error { return nil }

// errLeft is part of the error of a request whose server ended.
var errLeft = errors.New("the process that serves files ended")

// do carries out a request, at the next server too if that may be. When ctx ends, the server is told so, and do returns when it has left off.
func (d *Dir) do(ctx context.Context, r request, x exchange) error {
	err := d.once(ctx, r, x)
	if errors.Is(err, errLeft) && x.again != nil && ctx.Err() == nil && x.again() == nil {
		return d.once(ctx, r, x)
	}
	return err
}

func (d *Dir) once(ctx context.Context, r request, x exchange) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	server, socket, err := d.begin(r)
	if err != nil {
		return err
	}
	defer socket.Close()
	defer context.AfterFunc(ctx, func() { socket.CloseWrite() })()
	var failed error
	if x.from != nil {
		failed = give(socket, x.from)
	}
	if x.to == nil && r.List == nil && r.Op != opRemove && r.Op != opUnpack {
		if err := socket.SetReadDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
	}
	if err = x.await(socket, r.Op); errors.Is(err, errLeft) {
		server.ended.Store(true)
	}
	switch {
	case ctx.Err() != nil && err != nil:
		return ctx.Err()
	case failed != nil: // the server knows only that the content broke off
		return failed
	}
	return err
}

// begin sends a request, to the next server if that of the directory has ended, and returns the server with the socket for its answer.
func (d *Dir) begin(r request) (*peer, *net.UnixConn, error) {
	ours, theirs, err := packet.Pair("request for files")
	if err != nil {
		return nil, nil, err
	}
	defer theirs.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.socket == nil {
		return nil, nil, errors.Join(yurt.Errorf(yurt.CodeSandboxNotFound, "the sandbox ended while %s was used", r.Path), ours.Close())
	}
	err = errEnded
	if !d.server.ended.Load() {
		err = send(d.socket, r, theirs)
	}
	if hasEnded(err) {
		d.server.ended.Store(true)
		if err = d.reopen(); err == nil {
			err = send(d.socket, r, theirs)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(unavailable(err), ours.Close())
	}
	return d.server, ours, nil
}

// reopen opens the directory at the next server. The caller has the lock.
func (d *Dir) reopen() error {
	top, err := d.again()
	if err != nil {
		return err
	}
	defer top.Close()
	server, socket, err := d.client.open(top, d.as)
	if err != nil {
		return err
	}
	d.socket.Close()
	d.server, d.socket = server, socket
	return nil
}

// give sends content. It fails with the error of the reader alone: the server's answer says why it takes no more.
func give(socket *net.UnixConn, from io.Reader) error {
	buffer := buffers.Get().(*[maxBytes]byte) //nolint:forcetypeassert // the pool has no other
	defer buffers.Put(buffer)
	buffer[0] = tagPiece
	for {
		n, err := from.Read(buffer[1:])
		if n > 0 && packet.Send(socket, buffer[:1+n], nil) != nil {
			return nil
		}
		switch {
		case errors.Is(err, io.EOF):
			_ = pieces{socket}.end() // a server that has ended gives no answer
			return nil
		case err != nil:
			return errors.Join(err, socket.CloseWrite())
		}
	}
}

// await takes content and the answer. After an error of the function that takes content, the server leaves off, and the error is returned.
func (x exchange) await(socket *net.UnixConn, asked op) error {
	buffer := buffers.Get().(*[maxBytes]byte) //nolint:forcetypeassert // the pool has no other
	defer buffers.Put(buffer)
	var failed error
	for {
		data, files, err := receive(socket, buffer[:])
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
			return errors.Join(failed, yurt.Errorf(yurt.CodeUnavailable, "%w; try again", fmt.Errorf("%w: %w", errLeft, err)))
		case err != nil:
			return errors.Join(failed, yurt.Errorf(yurt.CodeUnavailable, "the process that serves files is stuck: %w; try again", err))
		case data[0] == tagAnswer:
			taken := x.take(data, files, asked)
			return cmp.Or(failed, taken)
		case data[0] != tagPiece || x.to == nil || len(files) > 0:
			descriptor.CloseAll(files)
			return fmt.Errorf("the process that serves files answers a request %q with a message of another kind", asked)
		case failed == nil:
			if failed = x.to(data[1:]); failed != nil {
				failed = errors.Join(failed, socket.CloseWrite())
			}
		}
	}
}

// receive receives a message. A server that leaves content unread resets the connection, which the kernel reports once; its answer comes after that.
func receive(socket *net.UnixConn, buffer []byte) ([]byte, []*os.File, error) {
	data, files, err := packet.Receive(socket, buffer, 1)
	if errors.Is(err, syscall.ECONNRESET) {
		data, files, err = packet.Receive(socket, buffer, 1)
	}
	return data, files, err
}

// take takes the answer.
func (x exchange) take(data []byte, files []*os.File, asked op) error {
	var a answer
	err := packet.Decode(data, &a)
	switch {
	case err != nil:
	case a.Error != nil:
		err = a.Error.Err()
	case x.value != nil:
		err = packet.Decode(a.Value, x.value)
	}
	if want := x.file != nil; err == nil && want != (len(files) == 1) {
		err = fmt.Errorf("the process that serves files answers a request %q with %d descriptors", asked, len(files))
	}
	if err != nil {
		descriptor.CloseAll(files)
		return err
	}
	if x.file != nil {
		*x.file = files[0]
	}
	return nil
}

// gathered is content of at most so many bytes.
type gathered struct {
	data []byte
	most int
}

func (g *gathered) add(data []byte) error {
	if len(g.data)+len(data) > g.most {
		return fmt.Errorf("a list of files has more than %d bytes", g.most)
	}
	g.data = append(g.data, data...)
	return nil
}

// files reads a list of files.
func (g *gathered) files(most int) (files []yurt.FileInfo, err error) {
	if err := packet.Decode(g.data, &files); err != nil {
		return nil, err
	}
	if len(files) > most {
		return nil, fmt.Errorf("a list has %d files, of at most %d", len(files), most)
	}
	return files, nil
}
