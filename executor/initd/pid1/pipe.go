package pid1

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Package os registers both ends of every pipe and device with the runtime's poller, and deregisters the end that a
// child gets. Each start would make half a dozen system calls for that in vain.

// pipeFrom makes a pipe of which our side reads, in the poller, and the child's end writes.
func pipeFrom() (read, write *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("making a pipe: %w", err)
	}
	write = os.NewFile(uintptr(fds[1]), "child's end")
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		write.Close()
		return nil, nil, fmt.Errorf("making a pipe: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "pipe"), write, nil
}

// openNull opens the stdin of a child without input.
func openNull() (*os.File, error) {
	fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: os.DevNull, Err: err}
	}
	return os.NewFile(uintptr(fd), os.DevNull), nil
}
