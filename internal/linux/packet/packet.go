// Package packet sends messages with descriptors between two processes, over a pair of sockets that keep messages apart (SOCK_SEQPACKET).
//
// A message arrives whole or not at all. The receiver says how long it may be and how many descriptors it may have; the sender bounds its length.
package packet

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds how long a message may wait until the other end reads those before it.
const patience = time.Minute

// Pair returns the two ends of a connection. The caller closes both; the second one is for another process.
// The name is for errors.
func Pair(name string) (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making a pair of sockets: %w", err)
	}
	theirs = os.NewFile(uintptr(fds[1]), name)
	ours, err = Open(os.NewFile(uintptr(fds[0]), name))
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
		return nil, fmt.Errorf("opening the socket %s: %w", end.Name(), err)
	}
	socket, ok := opened.(*net.UnixConn)
	if !ok || socket.LocalAddr().Network() != "unixpacket" {
		return nil, errors.Join(fmt.Errorf("the descriptor %s is another socket", end.Name()), opened.Close())
	}
	return socket, nil
}

// Send sends a message whole. The files stay the caller's.
func Send(socket *net.UnixConn, data []byte, files []*os.File) error {
	rights, err := Rights(files)
	if err != nil {
		return err
	}
	if err := socket.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, _, err = socket.WriteMsgUnix(data, rights, nil)
	return err
}

// Rights puts the descriptors of the files into the form in which a message has them. [os.File.Fd] would change how other holders of
// the same open file wait for it.
func Rights(files []*os.File) ([]byte, error) {
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

// Receive waits for a message with at most so many files. Data is in the buffer, until the next call.
func Receive(socket *net.UnixConn, buffer []byte, most int) (data []byte, files []*os.File, err error) {
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
		for _, file := range files {
			file.Close()
		}
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
