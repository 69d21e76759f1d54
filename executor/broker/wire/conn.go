package wire

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/yurtrun/yurt/internal/linux/packet"
)

// Bounds of a message.
const (
	maxBytes = 64 << 10
	maxFiles = 6 // descriptors with an answer: on cgroup v1 a run has three files for its birth and three with its usage
)

// Pair returns the two ends of a connection. The caller closes both; the second one is for another process.
func Pair() (ours *net.UnixConn, theirs *os.File, err error) { return packet.Pair("broker") }

// Open returns the connection that a file is one end of, and closes the file.
func Open(end *os.File) (*net.UnixConn, error) { return packet.Open(end) }

// errTooLong says that a message was not sent.
var errTooLong = errors.New("message is too long")

// send sends a message whole. The files stay the caller's.
func send(socket *net.UnixConn, data []byte, files []*os.File) error {
	if len(data) > maxBytes {
		return fmt.Errorf("%w: it has %d bytes, of at most %d", errTooLong, len(data), maxBytes)
	}
	return packet.Send(socket, data, files)
}
