package wire

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/internal/linux/descriptor"
)

// Bounds of a message.
const (
	maxBytes = 64 << 10
	maxFiles = 6 // descriptors with an answer: on cgroup v1 a run has three files for its birth and three with its usage
)

// patience bounds how long a message may wait until the other end reads those before it.
const patience = time.Minute

// Pair returns the two ends of a connection. The caller closes both; the second one is for another process.
func Pair() (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making a pair of sockets: %w", err)
	}
	theirs = os.NewFile(uintptr(fds[1]), "broker")
	ours, err = Open(os.NewFile(uintptr(fds[0]), "broker"))
	if err != nil {
		return nil, nil, errors.Join(err, theirs.Close())
	}
	return ours, theirs, nil
}

// Open returns the connection that a file is one end of, and closes the file.
func Open(end *os.File) (*net.UnixConn, error) {
	defer end.Close()
	opened, err := net.FileConn(end)
	if err != nil {
		return nil, fmt.Errorf("opening the socket to the broker: %w", err)
	}
	socket, ok := opened.(*net.UnixConn)
	if !ok || socket.LocalAddr().Network() != "unixpacket" {
		return nil, errors.Join(errors.New("descriptor of the broker's socket is another's"), opened.Close())
	}
	return socket, nil
}

// errTooLong says that a message was not sent.
var errTooLong = errors.New("message is too long")

// send sends a message whole. The files stay the caller's.
func send(socket *net.UnixConn, message any, files []*os.File) error {
	data, err := encode(message)
	if err != nil {
		return err
	}
	if len(data) > maxBytes {
		return fmt.Errorf("%w: it has %d bytes, of at most %d", errTooLong, len(data), maxBytes)
	}
	rights, err := rightsOf(files)
	if err != nil {
		return err
	}
	if err := socket.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, _, err = socket.WriteMsgUnix(data, rights, nil)
	return err
}

// rightsOf puts the descriptors of the files into the form in which a message has them. [os.File.Fd] would change how other holders of
// the same open file wait for it.
func rightsOf(files []*os.File) ([]byte, error) {
	if len(files) == 0 {
		return nil, nil
	}
	fds := make([]int, 0, len(files))
	for _, file := range files {
		raw, err := file.SyscallConn()
		if err != nil {
			return nil, fmt.Errorf("passing %s on: %w", file.Name(), err)
		}
		if err := raw.Control(func(fd uintptr) { fds = append(fds, int(fd)) }); err != nil {
			return nil, fmt.Errorf("passing %s on: %w", file.Name(), err)
		}
	}
	return syscall.UnixRights(fds...), nil
}

// receive waits for a message with at most so many files. Data is in the buffer, until the next call.
func receive(socket *net.UnixConn, buffer []byte, most int) (data []byte, files []*os.File, err error) {
	var rights []byte // no room for any, unless there may be some
	if most > 0 {
		rights = make([]byte, unix.CmsgSpace(4*most))
	}
	n, size, flags, _, err := socket.ReadMsgUnix(buffer, rights)
	files, broken := filesOf(rights[:size]) // also with an error: an empty message can have files
	switch {
	case err != nil:
	case broken != nil:
		err = broken
	case flags&unix.MSG_TRUNC != 0:
		err = fmt.Errorf("a message has more than %d bytes", len(buffer))
	case flags&unix.MSG_CTRUNC != 0 || len(files) > most: // the kernel has closed the others
		err = fmt.Errorf("a message has more than %d descriptors, or this process has too many files open", most)
	}
	if err != nil {
		descriptor.CloseAll(files)
		return nil, nil, err
	}
	return buffer[:n], files, nil
}

func filesOf(rights []byte) (files []*os.File, err error) {
	messages, err := syscall.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, fmt.Errorf("reading descriptors: %w", err)
	}
	for _, m := range messages {
		fds, err := syscall.ParseUnixRights(&m)
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "passed"))
		}
		if err != nil {
			return files, fmt.Errorf("reading descriptors: %w", err)
		}
	}
	return files, nil
}
