package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"

	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/failure"
	"github.com/yurtrun/yurt/internal/linux/packet"
)

// UnderWay is how many requests of one connection are carried out at the same time.
const UnderWay = 512

// Serve has a broker carry out the requests that come over the socket, until the other end is closed. It fails with the reason if the other
// end sends a broken message, or if ctx ends. It closes the socket, and returns when no request is under way any more. Those that were get
// a context that has ended.
func Serve(ctx context.Context, socket *net.UnixConn, by broker.Broker) error {
	ctx, cancel := context.WithCancel(ctx)
	s := &server{
		ctx: ctx, socket: socket, by: by, blanks: blanks(), room: make(chan struct{}, UnderWay), cancels: make(map[uint64]context.CancelFunc),
	}
	defer s.requests.Wait()
	defer socket.Close()
	defer cancel()
	defer context.AfterFunc(ctx, func() { socket.Close() })()
	buffer := make([]byte, maxBytes)
	for {
		data, _, err := packet.Receive(socket, buffer, 0)
		if err == nil {
			err = s.take(data)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case hasEnded(err):
			return nil
		case err != nil:
			return fmt.Errorf("taking a request: %w", err)
		}
	}
}

// server is one connection.
type server struct {
	ctx      context.Context //nolint:containedctx // of the connection, which its requests inherit
	socket   *net.UnixConn
	by       broker.Broker
	blanks   map[kind]func() request
	room     chan struct{} // one element for each request under way
	requests sync.WaitGroup

	mu      sync.Mutex
	cancels map[uint64]context.CancelFunc // of the requests under way, by number
}

// take begins the request in a message, when there is room for it.
func (s *server) take(data []byte) error {
	m, err := decodeMessage(data)
	if err != nil {
		return err
	}
	if m.Kind == kindCancel {
		return s.cancel(m)
	}
	select {
	case s.room <- struct{}{}:
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
	ctx, err := s.begin(m.ID)
	if err != nil {
		<-s.room
		return err
	}
	carry := func() {
		defer func() { <-s.room }()
		s.answer(ctx, m)
	}
	if isQuick(m.Kind) {
		carry()
	} else {
		s.requests.Go(carry)
	}
	return nil
}

// cancel ends the context of a request, which may have ended.
func (s *server) cancel(m message) error {
	if len(m.Args) > 0 {
		return errors.New("a cancellation has arguments")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.cancels[m.ID]; cancel != nil {
		cancel()
	}
	return nil
}

func (s *server) begin(id uint64) (context.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancels[id] != nil {
		return nil, fmt.Errorf("request %d is under way, and came again", id)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.cancels[id] = cancel
	return ctx, nil
}

func (s *server) end(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancels[id]()
	delete(s.cancels, id)
}

// hasEnded reports whether the other end is closed. The kernel tells a reader of answers that were not read, and a writer of a broken pipe.
func hasEnded(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// answer carries a request out. An answer that cannot be sent ends the connection.
func (s *server) answer(ctx context.Context, m message) {
	out, err := s.carryOut(ctx, m)
	if out.close != nil {
		defer out.close()
	}
	s.end(m.ID)
	if err == nil {
		err = s.send(answer{ID: m.ID}, out)
		if err == nil || hasEnded(err) {
			return
		}
	}
	if err := s.send(answer{ID: m.ID, Error: failure.New(err)}, reply{}); err != nil && !hasEnded(err) {
		s.socket.Close()
	}
}

func (s *server) carryOut(ctx context.Context, m message) (reply, error) {
	r, err := read(s.blanks, m)
	if err != nil {
		return reply{}, err
	}
	return r.do(ctx, s.by)
}

func (s *server) send(a answer, out reply) (err error) {
	if out.value != nil {
		if a.Value, err = packet.Encode(out.value); err != nil {
			return err
		}
	}
	data, err := a.encode()
	if err != nil {
		return err
	}
	return send(s.socket, data, out.files)
}
