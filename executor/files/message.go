package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/failure"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
	"github.com/yurtrun/yurt/internal/linux/packet"
)

// maxBytes bounds a message.
const maxBytes = 64 << 10

// The first bytes of messages of a request.
const (
	tagPiece  = 'd'
	tagEnd    = 'e'
	tagAnswer = '{'
)

// opening asks for a directory, as the user of a sandbox.
type opening struct {
	UID int `json:"uid"`
	GID int `json:"gid"`
}

// request is one call of a method of [workspace.Dir].
type request struct {
	Op        op                `json:"op"`
	Path      string            `json:"path,omitempty"`
	To        string            `json:"to,omitempty"`
	Mode      uint32            `json:"mode,omitempty"`
	Limit     int64             `json:"limit,omitempty"`
	Entries   int               `json:"entries,omitempty"`
	Flag      bool              `json:"flag,omitempty"` // replace, all or deep
	Span      *yurt.Span        `json:"span,omitempty"`
	Condition *yurt.Condition   `json:"condition,omitempty"`
	List      *yurt.ListOptions `json:"list,omitempty"`
}

// answer ends a request.
type answer struct {
	Value json.RawMessage  `json:"value,omitempty"`
	Error *failure.Failure `json:"error,omitempty"`
}

// made is the value of a directory that was made, or was there.
type made struct {
	Info yurt.FileInfo `json:"info"`
	Made bool          `json:"made"`
}

// opened is the value of a file that is read: its descriptor comes with it.
type opened struct {
	Info   yurt.FileInfo `json:"info"`
	Start  int64         `json:"start"`
	Length int64         `json:"length"`
}

// buffers hold messages while they are read and written.
var buffers = sync.Pool{New: func() any { return new([maxBytes]byte) }} //nolint:gochecknoglobals // a cache of memory

// send sends a message of JSON.
func send(socket *net.UnixConn, message any, files ...*os.File) error {
	data, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("writing a message: %w", err)
	}
	if len(data) > maxBytes {
		return yurt.Errorf(yurt.CodeInvalidArgument, "a request for files has %d bytes, of at most %d; give shorter paths", len(data), maxBytes)
	}
	return packet.Send(socket, data, files)
}

// takeIn receives a message of JSON with exactly so many files.
func takeIn(socket *net.UnixConn, message any, most int) ([]*os.File, error) {
	buffer := buffers.Get().(*[maxBytes]byte) //nolint:forcetypeassert // the pool has no other
	defer buffers.Put(buffer)
	data, files, err := packet.Receive(socket, buffer[:], most)
	if err != nil {
		return nil, err
	}
	if err = packet.Decode(data, message); err == nil && len(files) != most {
		err = fmt.Errorf("a message has %d descriptors, want %d", len(files), most)
	}
	if err != nil {
		descriptor.CloseAll(files)
		return nil, err
	}
	return files, nil
}

// pieces writes content as messages.
type pieces struct{ socket *net.UnixConn }

// Write implements [io.Writer].
func (p pieces) Write(content []byte) (n int, err error) {
	buffer := buffers.Get().(*[maxBytes]byte) //nolint:forcetypeassert // the pool has no other
	defer buffers.Put(buffer)
	for len(content) > 0 {
		buffer[0] = tagPiece
		size := copy(buffer[1:], content)
		if err := packet.Send(p.socket, buffer[:1+size], nil); err != nil {
			return n, err
		}
		n, content = n+size, content[size:]
	}
	return n, nil
}

// end says that the content was whole.
func (p pieces) end() error { return packet.Send(p.socket, []byte{tagEnd}, nil) }

// content reads the messages that [pieces] writes. Content that ends without its mark is [io.ErrUnexpectedEOF].
type content struct {
	socket *net.UnixConn
	buffer *[maxBytes]byte
	rest   []byte
	end    error
}

// Read implements [io.Reader].
func (c *content) Read(into []byte) (int, error) {
	for len(c.rest) == 0 && c.end == nil {
		c.next()
	}
	if len(c.rest) == 0 {
		return 0, c.end
	}
	n := copy(into, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// next takes the next piece.
func (c *content) next() {
	data, _, err := packet.Receive(c.socket, c.buffer[:], 0)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		c.end = io.ErrUnexpectedEOF
	case err != nil:
		c.end = err
	case data[0] == tagPiece:
		c.rest = data[1:]
	case data[0] == tagEnd && len(data) == 1:
		c.end = io.EOF
	default:
		c.end = errors.New("content has a message of another kind")
	}
}
