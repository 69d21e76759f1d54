package pid1

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/yurtrun/yurt/executor/initd"
)

// serve answers the host's connections, each in a goroutine of its own.
func serve(listener net.Listener, t *table) error {
	for {
		conn, err := listener.Accept()
		if isPassing(err) {
			// With this process the sandbox would end.
			time.Sleep(acceptPause)
			continue
		}
		if err != nil {
			return fmt.Errorf("accepting the host: %w", err)
		}
		go func() {
			defer conn.Close()
			newSession(conn.(*net.UnixConn), t).handle()
		}()
	}
}

// acceptPause is the wait after a resource that a connection needs has run out.
const acceptPause = 10 * time.Millisecond

// isPassing reports whether the error is a want of something that comes back when
// runs end.
func isPassing(err error) bool {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// session is one connection of the host: a request and its consequences. When that was a process which has ended and
// is forgotten, another request may follow.
type session struct {
	conn   *net.UnixConn
	in     receiver
	reader *initd.Reader
	table  *table
}

func newSession(conn *net.UnixConn, t *table) *session {
	s := &session{conn: conn, in: receiver{conn: conn}, table: t}
	s.reader = initd.NewReader(&s.in)
	_ = conn.SetWriteBuffer(sendBuffer) // otherwise it is larger
	return s
}

// sendBuffer bounds the data of a connection that the kernel holds on its way to the host, in bytes; it counts towards
// init's memory.
const sendBuffer = 64 << 10

func (s *session) handle() {
	for s.serveOne() {
		s.reader = initd.NewReader(&s.in) // without the memory of the request
	}
}

// serveOne answers one request, and reports whether there may be another.
func (s *session) serveOne() bool {
	frame, err := s.reader.Next()
	files := s.in.takeFiles()
	defer func() { closeAll(files) }()
	if err != nil {
		return false // the host is trusted: it went away
	}
	switch frame.Kind {
	case initd.KindPing:
		return initd.WriteMessage(s.conn, initd.KindOK, initd.Ready{Keeps: true}) == nil
	case initd.KindForget:
		var req initd.ProcessRequest
		s.reply(frame.Decode(&req), func() error { return s.table.forget(req.ID) })
	case initd.KindSignal:
		var req initd.SignalRequest
		s.reply(frame.Decode(&req), func() error { return s.table.signal(req) })
	case initd.KindInput:
		var req initd.InputRequest
		s.reply(errors.Join(frame.Decode(&req), req.Validate()), func() error { return s.input(req) })
	case initd.KindResize:
		var req initd.ResizeRequest
		s.reply(errors.Join(frame.Decode(&req), req.Validate()), func() error { return s.resize(req) })
	case initd.KindPlace:
		var req initd.PlaceRequest
		s.reply(frame.Decode(&req), func() error { return s.table.place(req, files) })
	case initd.KindStart:
		p := s.start(frame, files)
		closeAll(files) // not only when the run has ended: there may be many
		files = nil
		return p != nil && s.stream(p, 0)
	case initd.KindAttach:
		return s.attach(frame)
	default:
		s.fail(refusal(initd.ReasonBadRequest, fmt.Errorf("unknown request %q", frame.Kind)))
	}
	return false
}

// start returns the process of the request. It returns nil after it has reported a failure to the host.
func (s *session) start(frame initd.Frame, files []*os.File) *process {
	var req initd.StartRequest
	if err := frame.Decode(&req); err != nil {
		s.fail(refusal(initd.ReasonBadRequest, err))
		return nil
	}
	p, err := s.table.start(req, files)
	if err != nil {
		s.fail(err)
	}
	return p
}

func (s *session) attach(frame initd.Frame) bool {
	var req initd.AttachRequest
	if err := frame.Decode(&req); err != nil {
		s.fail(refusal(initd.ReasonBadRequest, err))
		return false
	}
	p, err := s.table.find(req.ID)
	if err != nil {
		s.fail(err)
		return false
	}
	p.ack(req.After)
	return s.stream(p, req.After)
}

// input gives a process data to read. The host gives up by hanging up.
func (s *session) input(req initd.InputRequest) error {
	p, err := s.table.find(req.ID)
	if err != nil {
		return err
	}
	gone := make(chan struct{})
	go func() { // until the connection ends, at the latest with this request
		defer close(gone)
		_, _ = s.reader.Next()
	}()
	return p.write(req, gone)
}

func (s *session) resize(req initd.ResizeRequest) error {
	p, err := s.table.find(req.ID)
	if err != nil {
		return err
	}
	return p.resize(req.Size)
}

// stream sends the process's output after seq and then its end, and takes the
// host's acknowledgements meanwhile. It reports whether the host has had it forgotten then.
func (s *session) stream(p *process, seq uint64) bool {
	if initd.WriteMessage(s.conn, initd.KindBegun, initd.Begun{PID: p.pid, Keeps: true}) != nil {
		return false
	}
	s.reader = initd.NewReader(&s.in) // without the memory of the request
	var stopped atomic.Bool
	forgets := make(chan bool)
	go func() {
		forget := s.takeAcks(p)
		stopped.Store(true)
		p.wake()
		forgets <- forget
	}()
	ended := s.sendOutput(p, seq, stopped.Load)
	// The host goes on, or closes, when it has the end; until then its last acks may come.
	forget := <-forgets
	return ended && forget && s.table.forget(p.id) == nil
}

// takeAcks takes acknowledgements until the host has something else to say, and reports
// whether that is to forget the process.
func (s *session) takeAcks(p *process) bool {
	for {
		frame, err := s.reader.Next()
		if err != nil {
			return false
		}
		if frame.Kind == initd.KindForget {
			var req initd.ProcessRequest
			return frame.Decode(&req) == nil && req.ID == p.id
		}
		var ack initd.Ack
		if frame.Kind != initd.KindAck || frame.Decode(&ack) != nil {
			return false
		}
		p.ack(ack.Seq)
	}
}

// sendOutput reports whether it got to the end.
func (s *session) sendOutput(p *process, seq uint64, stopped func() bool) bool {
	for {
		chunks, exit := p.wait(seq, stopped)
		if exit != nil {
			return initd.WriteMessage(s.conn, initd.KindExit, exit) == nil
		}
		if len(chunks) == 0 || s.sendChunks(chunks) != nil {
			return false
		}
		seq = chunks[len(chunks)-1].Seq
	}
}

// sendChunks writes the chunks without copying their data.
func (s *session) sendChunks(chunks []initd.Chunk) error {
	headers := make([]byte, 0, len(chunks)*initd.ChunkHeader)
	parts := make(net.Buffers, 0, 2*len(chunks))
	for _, c := range chunks {
		headers = initd.AppendChunkHeader(headers, c)
		parts = append(parts, headers[len(headers)-initd.ChunkHeader:], c.Data)
	}
	_, err := parts.WriteTo(s.conn)
	return err
}

func (s *session) reply(err error, do func() error) {
	if err == nil {
		err = do()
	}
	if err != nil {
		s.fail(err)
		return
	}
	s.send(initd.KindOK, nil)
}

func (s *session) fail(err error) {
	failure := new(initd.Failure)
	if !errors.As(err, &failure) {
		failure = &initd.Failure{Reason: initd.ReasonBadRequest, Message: err.Error()}
	}
	s.send(initd.KindError, failure)
}

// send writes the last frame of a connection. It fails only when the host is gone.
func (s *session) send(kind initd.Kind, message any) {
	_ = initd.WriteMessage(s.conn, kind, message)
}

// receiver reads from the connection and keeps the descriptors that come along.
type receiver struct {
	conn  *net.UnixConn
	files []*os.File
}

// maxFiles bounds the descriptors of one request.
const maxFiles = 16

func (r *receiver) Read(buf []byte) (int, error) {
	oob := make([]byte, syscall.CmsgSpace(maxFiles*4))
	n, oobn, _, _, err := r.conn.ReadMsgUnix(buf, oob)
	if err != nil {
		return n, err
	}
	if n == 0 && oobn == 0 {
		return 0, net.ErrClosed
	}
	messages, err := syscall.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return n, fmt.Errorf("reading descriptors: %w", err)
	}
	for _, m := range messages {
		fds, err := syscall.ParseUnixRights(&m)
		if err != nil {
			return n, fmt.Errorf("reading descriptors: %w", err)
		}
		for _, fd := range fds { // to be closed on exec, as package net asks for them
			r.files = append(r.files, os.NewFile(uintptr(fd), "passed"))
		}
	}
	return n, nil
}

func (r *receiver) takeFiles() []*os.File {
	files := r.files
	r.files = nil
	return files
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
