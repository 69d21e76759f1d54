package pkgsocket

import (
	"context"
	"net"
	"sync"
	"time"
	"unicode/utf8"
)

// Bounds that protect the server from the code of its sandbox.
const (
	// maxConnections is how many are open at once. Others wait in the kernel.
	maxConnections = 4
	// acceptPause is between two connections, beyond the first acceptBurst.
	acceptPause = 50 * time.Millisecond
	acceptBurst = 16
	// requestTimeout bounds how long a request may take to come, and writeTimeout how long a
	// command may leave an answer unread.
	requestTimeout = 5 * time.Second
	writeTimeout   = 30 * time.Second
	// handlePause is between the end of a request and the next one. So the
	// requests of a session take a small part of a processor, beside the installations.
	handlePause = 100 * time.Millisecond
	maxText     = 16 << 10 // bytes of text in one answer
)

// Handler carries out a request, and tells the progress of it. The context is done
// when the command has gone.
type Handler func(ctx context.Context, r Request, pid int, tell func(text string) error) Answer

// Server answers the requests of one sandbox, one after the other.
type Server struct {
	handle Handler
	turn   chan struct{} // holds a value while a request is being handled
}

// NewServer returns a server that has handle carry out the requests.
func NewServer(handle Handler) *Server {
	return &Server{handle: handle, turn: make(chan struct{}, 1)}
}

// Serve answers at the listener, which it closes, until the context is done.
func (s *Server) Serve(ctx context.Context, listener net.Listener) {
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	defer listener.Close()
	var serving sync.WaitGroup
	defer serving.Wait()
	room := make(chan struct{}, maxConnections)
	var next time.Time
	for {
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return
		}
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		serving.Go(func() {
			defer func() { <-room }()
			s.serve(ctx, conn)
		})
		now := time.Now()
		if earliest := now.Add(-acceptBurst * acceptPause); next.Before(earliest) {
			next = earliest
		}
		if next = next.Add(acceptPause); next.After(now) && !pause(ctx, next.Sub(now)) {
			return
		}
	}
}

// pause reports whether so much time has passed before the context was done.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// serve answers one connection.
func (s *Server) serve(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if conn.SetReadDeadline(time.Now().Add(requestTimeout)) != nil {
		return
	}
	request, err := ReadRequest(conn)
	if err != nil {
		_ = say(conn, Answer{Done: true, Error: err.Error()}) // that the command has gone is its own affair
		return
	}
	if conn.SetReadDeadline(time.Time{}) != nil {
		return
	}
	var watching sync.WaitGroup
	watching.Go(func() { // a command that ends, or says more, wants no answer any more
		_, _ = conn.Read(make([]byte, 1))
		cancel()
	})
	defer watching.Wait()
	defer conn.Close()
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return
	}
	answer := s.handle(ctx, request, PeerPID(conn), func(text string) error { return sayText(conn, text) })
	answer.Done = true
	_ = say(conn, bounded(answer)) // likewise
	time.AfterFunc(handlePause, func() { <-s.turn })
}

// sayText says a text in pieces that each fit an answer.
func sayText(conn net.Conn, text string) error {
	for len(text) > 0 {
		n := min(len(text), maxText)
		for n < len(text) && n > maxText-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		if err := say(conn, Answer{Text: text[:n]}); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// bounded returns an answer that a command takes.
func bounded(a Answer) Answer {
	a.Error = a.Error[:min(len(a.Error), maxText)]
	a.Installed, a.Replaced = a.Installed[:min(len(a.Installed), maxPackages)], a.Replaced[:min(len(a.Replaced), maxPackages)]
	return a
}

func say(conn net.Conn, answer Answer) error {
	line, err := Encode(answer)
	if err != nil {
		return err
	}
	if err := conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err = conn.Write(line)
	return err
}
