package pid1

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/yurtrun/yurt/executor/initd"
)

// streamReader reads one pipe of a process to its end. It cuts chunks between
// UTF-8 characters, and reads on beyond the limit so that the writer never blocks.
type streamReader struct {
	process *process
	stream  initd.Stream
	pipe    *os.File
	limit   int64

	total    int64  // bytes read
	kept     int64  // bytes passed on
	tail     []byte // the beginning of a character that is not complete
	drained  chan struct{}
	once     sync.Once
	reported int64 // total when drained was closed
}

func newStreamReader(p *process, stream initd.Stream, pipe *os.File, limit int64) *streamReader {
	return &streamReader{process: p, stream: stream, pipe: pipe, limit: limit, drained: make(chan struct{})}
}

// run reads until the last writer is gone. When the process itself has ended but
// something it left behind holds the pipe open, all that comes later is dropped.
func (r *streamReader) run() {
	defer r.pipe.Close()
	buf := make([]byte, initd.MaxChunk)
	for {
		n, err := r.pipe.Read(buf)
		r.take(buf[:n])
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			r.readAvailable(buf)
			r.report()
			r.pipe.SetReadDeadline(time.Time{})
			_, _ = io.Copy(io.Discard, r.pipe)
			return
		default:
			r.report()
			return
		}
	}
}

// drain waits until all that the ended process wrote is passed on, and returns
// how many bytes it wrote.
func (r *streamReader) drain() int64 {
	r.pipe.SetReadDeadline(time.Unix(1, 0)) // interrupts a Read that waits; what is in the pipe is read after
	<-r.drained
	return r.reported
}

// readAvailable reads what is in the pipe now, without waiting for more.
func (r *streamReader) readAvailable(buf []byte) {
	raw, err := r.pipe.SyscallConn()
	if err != nil {
		return
	}
	// Control, not Read: the deadline that brought us here has passed.
	raw.Control(func(fd uintptr) {
		for left := 1 << 20; left > 0; { // a pipe's capacity at most, or a writer left behind could hold us for ever
			n, err := syscall.Read(int(fd), buf)
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			if n <= 0 || err != nil {
				return
			}
			r.take(buf[:n])
			left -= n
		}
	})
}

func (r *streamReader) report() {
	r.once.Do(func() {
		// A character that the limit cuts is left out, one that the process itself
		// left incomplete is its own.
		if r.total == r.kept+int64(len(r.tail)) {
			r.pass(r.tail)
		}
		r.reported = r.total
		close(r.drained)
	})
}

// take counts data and passes on what fits the limit, up to the last whole character.
func (r *streamReader) take(data []byte) {
	r.total += int64(len(data))
	room := r.limit - r.kept - int64(len(r.tail))
	if len(data) == 0 || room <= 0 {
		return
	}
	data = append(r.tail, data[:min(int64(len(data)), room)]...)
	r.tail = nil
	whole := len(data) - partialRune(data)
	if whole > 0 {
		r.pass(data[:whole])
	}
	r.tail = append([]byte(nil), data[whole:]...)
}

func (r *streamReader) pass(data []byte) {
	for len(data) > 0 {
		n := len(data)
		if n > initd.MaxChunk {
			n = initd.MaxChunk - partialRune(data[:initd.MaxChunk])
		}
		r.kept += int64(n)
		r.process.add(r.stream, append([]byte(nil), data[:n]...))
		data = data[n:]
	}
}

// partialRune returns how many bytes at the end of data begin a character that
// is not complete; 0 if what is there is no UTF-8 anyway.
func partialRune(data []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(data); back++ {
		b := data[len(data)-back]
		if utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(data[len(data)-back:]) {
				return back
			}
			return 0
		}
	}
	return 0
}
