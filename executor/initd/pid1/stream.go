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
	buffers *sync.Pool

	total    int64  // bytes read
	kept     int64  // bytes passed on
	tail     []byte // the beginning of a character that is not complete
	drained  chan struct{}
	once     sync.Once
	reported int64 // total when drained was closed
}

func newStreamReader(p *process, stream initd.Stream, pipe *os.File, limit int64, buffers *sync.Pool) *streamReader {
	return &streamReader{process: p, stream: stream, pipe: pipe, limit: limit, buffers: buffers, drained: make(chan struct{})}
}

// chunkSize is the largest chunk that init sends, in bytes. The host has two buffers of this size for each stream that is read.
const chunkSize = initd.MaxChunk / 2

// newBuffers makes the pool of buffers for reading. A reader that waits, for its process or for the host, holds no buffer.
func newBuffers() *sync.Pool {
	return &sync.Pool{New: func() any { return new([chunkSize]byte) }}
}

// run reads until the last writer is gone. When the process itself has ended but
// something it left behind holds the pipe open, all that comes later is dropped.
func (r *streamReader) run() {
	defer r.pipe.Close()
	raw, err := r.pipe.SyscallConn()
	for err == nil {
		var data []byte
		waited := raw.Read(func(fd uintptr) bool {
			data, err = r.read(int(fd))
			return !errors.Is(err, syscall.EAGAIN)
		})
		if waited != nil {
			err = waited
			break
		}
		r.take(data)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		r.readAvailable(raw)
		r.report()
		r.pipe.SetReadDeadline(time.Time{})
		_, _ = io.Copy(io.Discard, r.pipe)
		return
	}
	r.report()
}

// read reads the available data, up to a chunk's size, and returns it after the tail, which is then empty. The error
// is io.EOF at the end of the pipe and EAGAIN when it is empty.
func (r *streamReader) read(fd int) ([]byte, error) {
	buf := r.buffers.Get().(*[chunkSize]byte)
	defer r.buffers.Put(buf)
	n, err := syscall.Read(fd, buf[:])
	for errors.Is(err, syscall.EINTR) {
		n, err = syscall.Read(fd, buf[:])
	}
	if errors.Is(err, syscall.EIO) || err == nil && n == 0 { // so a terminal reports that no process has it open
		return nil, io.EOF
	}
	if err != nil {
		return nil, err
	}
	return r.keep(buf[:n]), nil
}

// drain waits until all that the ended process wrote is passed on, and returns
// how many bytes it wrote.
func (r *streamReader) drain() int64 {
	r.pipe.SetReadDeadline(time.Unix(1, 0)) // interrupts a Read that waits; the data in the pipe is read afterwards
	<-r.drained
	return r.reported
}

// readAvailable reads the data in the pipe, without waiting for more.
func (r *streamReader) readAvailable(raw syscall.RawConn) {
	for left := 1 << 20; left > 0; { // a pipe's capacity at most, or a writer left behind could hold us for ever
		var data []byte
		before := r.total
		// Control, not Read: the deadline that brought us here has passed.
		err := raw.Control(func(fd uintptr) { data, _ = r.read(int(fd)) })
		if err != nil || r.total == before {
			return
		}
		r.take(data)
		left -= int(r.total - before)
	}
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

// keep counts the data and returns a copy of as much of it as fits the limit, after the tail, which is then empty.
func (r *streamReader) keep(data []byte) []byte {
	r.total += int64(len(data))
	room := r.limit - r.kept - int64(len(r.tail))
	if room <= 0 {
		return nil
	}
	data = data[:min(int64(len(data)), room)]
	whole := make([]byte, 0, len(r.tail)+len(data))
	whole = append(append(whole, r.tail...), data...)
	r.tail = nil
	return whole
}

// take passes on data, which is its own, up to the last whole character.
func (r *streamReader) take(data []byte) {
	if len(data) == 0 {
		return
	}
	whole := len(data) - partialRune(data)
	r.tail = append(r.tail, data[whole:]...)
	r.pass(data[:whole])
}

func (r *streamReader) pass(data []byte) {
	for len(data) > 0 {
		n := len(data)
		if n > chunkSize {
			n = chunkSize - partialRune(data[:chunkSize])
		}
		r.kept += int64(n)
		r.process.add(r.stream, data[:n])
		data = data[n:]
	}
}

// partialRune returns how many bytes at the end of data begin an incomplete character; 0 if the end is not UTF-8.
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
