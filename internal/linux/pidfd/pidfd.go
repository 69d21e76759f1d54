// Package pidfd waits for the end of processes that are not one's children, or are
// many, without a thread for each.
package pidfd

import (
	"fmt"
	"os"
	"syscall"

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

// Wait returns nil when the process has ended, and an error when the File is closed first. It does not reap the process.
func (f *File) Wait() error {
	raw, err := f.file.SyscallConn()
	if err != nil {
		return fmt.Errorf("watching a process: %w", err)
	}
	return raw.Read(ended)
}

// Ended reports whether the process has ended.
func (f *File) Ended() (yes bool) {
	err := f.with(func(fd int) error {
		yes = ended(uintptr(fd))
		return nil
	})
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
func (f *File) Kill() error { return f.Signal(unix.SIGKILL) }

// Signal sends the process a signal.
func (f *File) Signal(signal syscall.Signal) error {
	if err := f.with(func(fd int) error { return unix.PidfdSendSignal(fd, signal, nil, 0) }); err != nil {
		return fmt.Errorf("sending a process signal %d: %w", signal, err)
	}
	return nil
}

// Reap takes the exit status of a child that has ended, so that its number can be another's.
func (f *File) Reap() error {
	err := f.with(func(fd int) error { return unix.Waitid(unix.P_PIDFD, fd, nil, unix.WEXITED, nil) })
	if err != nil {
		return fmt.Errorf("reaping a process: %w", err)
	}
	return nil
}

// with calls do with the descriptor, which stays open meanwhile.
func (f *File) with(do func(fd int) error) error {
	raw, err := f.file.SyscallConn()
	if err != nil {
		return err
	}
	var done error
	if err := raw.Control(func(fd uintptr) { done = do(int(fd)) }); err != nil {
		return err
	}
	return done
}

// Close ends a Wait.
func (f *File) Close() error { return f.file.Close() }
