package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
	"github.com/yurtrun/yurt/internal/linux/packet"
)

// calls are the requests under way on a socket.
type calls struct {
	socket  *net.UnixConn
	lost    func()
	closing atomic.Bool
	room    chan struct{} // one element for each request under way
	done    chan struct{} // closed when no answers come any more, after end is set
	end     error

	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan<- arrived
}

// arrived is an answer with its files, which the receiver closes.
type arrived struct {
	answer
	files []*os.File
}

// newCalls takes the socket over. When the connection ends in another way than by Close, lost is called, before any request fails.
func newCalls(socket *net.UnixConn, lost func()) *calls {
	c := &calls{socket: socket, lost: lost, room: make(chan struct{}, UnderWay), done: make(chan struct{}), waiting: make(map[uint64]chan<- arrived)}
	go c.receive()
	return c
}

// Close ends the connection. Requests that wait for an answer fail.
func (c *calls) Close() error {
	c.closing.Store(true)
	err := c.socket.Close()
	<-c.done
	return err
}

// Done is closed when the connection has ended.
func (c *calls) Done() <-chan struct{} { return c.done }

// receive hands out the answers until the connection ends.
func (c *calls) receive() {
	defer close(c.done)
	buffer := make([]byte, maxBytes)
	for {
		data, files, err := packet.Receive(c.socket, buffer, maxFiles)
		if err == nil {
			err = c.deliver(data, files)
		}
		if err != nil {
			c.end = errors.Join(err, c.socket.Close())
			if c.lost != nil && !c.closing.Load() {
				c.lost()
			}
			return
		}
	}
}

// deliver hands an answer to the caller that waits for it.
func (c *calls) deliver(data []byte, files []*os.File) error {
	got := arrived{files: files}
	var err error
	if got.answer, err = decodeAnswer(data); err != nil {
		descriptor.CloseAll(files)
		return err
	}
	c.mu.Lock()
	waits := c.waiting[got.ID]
	delete(c.waiting, got.ID)
	c.mu.Unlock()
	if waits == nil {
		descriptor.CloseAll(files)
		return fmt.Errorf("the broker answers request %d, which is not under way", got.ID)
	}
	waits <- got
	return nil
}

// ask has a request carried out. The value is nil if it has no value. The caller closes the files of the answer.
func (c *calls) ask(ctx context.Context, k kind, r request, value any) ([]*os.File, error) {
	select {
	case c.room <- struct{}{}:
		defer func() { <-c.room }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	id, waits, err := c.begin(k, r)
	if err != nil {
		return nil, err
	}
	got, err := c.await(ctx, id, waits)
	if err != nil {
		return nil, err
	}
	switch {
	case got.Error != nil:
		err = got.Error.Err()
	case value != nil:
		err = packet.Decode(got.Value, value)
	case len(got.Value) > 0:
		err = fmt.Errorf("the broker answers a request %q with a value", k)
	}
	if err != nil {
		descriptor.CloseAll(got.files)
		return nil, err
	}
	return got.files, nil
}

// begin sends a request, and returns the channel of its answer.
func (c *calls) begin(k kind, r request) (id uint64, _ <-chan arrived, err error) {
	args, err := packet.Encode(r)
	if err != nil {
		return 0, nil, err
	}
	waits := make(chan arrived, 1)
	c.mu.Lock()
	c.last++
	id = c.last
	c.waiting[id] = waits
	c.mu.Unlock()
	if err := send(c.socket, message{ID: id, Kind: k, Args: args}.encode(), nil); err != nil {
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
		return 0, nil, c.notSent(k, err)
	}
	return id, waits, nil
}

// notSent is the error of a request that was not sent. One that had no room in a message leaves the connection whole.
func (c *calls) notSent(k kind, err error) error {
	if errors.Is(err, errTooLong) {
		return yurt.Errorf(yurt.CodeInvalidArgument, "request %q to the broker: %w; give it shorter or fewer paths", k, err)
	}
	c.socket.Close() // a part of the messages may be missing
	<-c.done
	return yurt.Errorf(yurt.CodeUnavailable, "asking the broker: %w", err)
}

// await waits for an answer. A request whose context ends is cancelled, and waited for all the same: until the broker has left off, the
// caller could not undo it.
func (c *calls) await(ctx context.Context, id uint64, waits <-chan arrived) (arrived, error) {
	ended := ctx.Done()
	for {
		select {
		case got := <-waits:
			return got, nil
		case <-ended:
			ended = nil
			if err := send(c.socket, message{ID: id, Kind: kindCancel}.encode(), nil); err != nil {
				c.socket.Close()
			}
		case <-c.done:
			select {
			case got := <-waits: // the last one
				return got, nil
			default:
				return arrived{}, yurt.Errorf(yurt.CodeUnavailable, "the broker has ended: %w", c.end)
			}
		}
	}
}

// value asks for a request whose answer has no files. The value is nil if it has no value either.
func (c *calls) value(ctx context.Context, k kind, r request, value any) error {
	files, err := c.ask(ctx, k, r, value)
	if err == nil && len(files) > 0 {
		err = unexpected(k, files)
	}
	return err
}

// file asks for a request whose answer is one file.
func (c *calls) file(k kind, r request) (*os.File, error) {
	files, err := c.ask(context.Background(), k, r, nil)
	if err != nil {
		return nil, err
	}
	if len(files) != 1 {
		return nil, unexpected(k, files)
	}
	return files[0], nil
}

// unexpected closes the files of an answer that has too few or too many.
func unexpected(k kind, files []*os.File) error {
	descriptor.CloseAll(files)
	return fmt.Errorf("the broker answers a request %q with %d descriptors", k, len(files))
}
