// Package pidfd waits for the end of processes that are not one's children, or are
// many, without a thread for each.
package pidfd

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// File names a process for good, while its number may come to be another's.
type File struct{ file *os.File }

// Open returns a File of the process that has the number now.
func Open(pid int) (*File, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watching process %d: %w", pid, err)
	}
	return &File{os.NewFile(uintptr(fd), "pidfd")}, nil
}

// Wait returns nil when the process has ended, and an error when the File is closed
// first. It reaps nothing.
func (f *File) Wait() error {
	raw, err := f.file.SyscallConn()
	if err != nil {
		return fmt.Errorf("watching a process: %w", err)
	}
	return raw.Read(ended)
}

// Ended reports whether the process has ended.
func (f *File) Ended() (yes bool) {
	raw, err := f.file.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Control(func(fd uintptr) { yes = ended(fd) })
	return yes && err == nil
}

// ended reports whether the descriptor's process has ended: it cannot be read, but becomes
// readable then.
func ended(fd uintptr) bool {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(poll, 0)
	return n > 0 && err == nil
}

// Kill kills the process.
func (f *File) Kill() error {
	raw, err := f.file.SyscallConn()
	if err != nil {
		return fmt.Errorf("killing a process: %w", err)
	}
	var killed error
	if err := raw.Control(func(fd uintptr) { killed = unix.PidfdSendSignal(int(fd), unix.SIGKILL, nil, 0) }); err != nil {
		return fmt.Errorf("killing a process: %w", err)
	}
	return killed
}

// Close ends a Wait.
func (f *File) Close() error { return f.file.Close() }
