package host

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
)

// maxHandshakeBytes bounds the first line of a plugin; go-plugin's has about 1,000.
const maxHandshakeBytes = 4 << 10

// handshakeReader passes on the first line and swallows the rest, which is not read but must not
// fill the pipe and block the plugin.
type handshakeReader struct {
	pipe *os.File
	mu   sync.Mutex
	line []byte // guarded by mu: the line as far as it was read
	full bool   // guarded by mu
}

func (r *handshakeReader) Read(into []byte) (int, error) {
	if r.complete() {
		_, _ = io.Copy(io.Discard, r.pipe) // ends when the pipe does, however it does
		return 0, io.EOF
	}
	n, err := r.pipe.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		err = io.EOF // closed by reap, after the process ended
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.line = append(r.line, into[:n]...)
	if end := bytes.IndexByte(r.line, '\n'); end >= 0 {
		r.line, r.full = r.line[:end], true
	}
	if len(r.line) > maxHandshakeBytes {
		r.line, r.full = r.line[:maxHandshakeBytes], true
		return 0, io.EOF
	}
	return n, err
}

func (r *handshakeReader) complete() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.full
}

// text returns the first line, as far as there is one.
func (r *handshakeReader) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.TrimSpace(string(r.line))
}

// Close has no effect: reap closes the pipe.
func (r *handshakeReader) Close() error { return nil }

// teeReader keeps the tail of the data that passes through it.
type teeReader struct {
	pipe *os.File
	tail tail
	once sync.Once
	done chan struct{} // closed at the end
}

func (r *teeReader) Read(into []byte) (int, error) {
	n, err := r.pipe.Read(into)
	_, _ = r.tail.Write(into[:n]) // never fails
	if err != nil {
		r.once.Do(func() { close(r.done) })
		err = io.EOF
	}
	return n, err
}

// Close has no effect: reap closes the pipe.
func (r *teeReader) Close() error { return nil }
