package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Feed copies our input, of any type, into a pipe that a program reads.
type Feed struct {
	from     *os.File
	position int64    // where from was, -1 if it has no positions
	Program  *os.File // the program's end; we keep it open to see how much it leaves unread
	to       *os.File
	taken    int64    // bytes that went into the pipe
	ended    *os.File // readable once end is closed: the program is no more
	end      *os.File
}

// NewFeed makes a feed that copies from a file to a program. The caller runs it and closes it.
func NewFeed(from *os.File) (*Feed, error) {
	f := &Feed{from: from}
	var err error
	if f.Program, f.to, err = NewPipe(MayRead); err != nil {
		return nil, err
	}
	if f.ended, f.end, err = os.Pipe(); err != nil {
		return nil, errors.Join(fmt.Errorf("making a pipe: %w", err), f.Program.Close(), f.to.Close())
	}
	if f.position, err = from.Seek(0, io.SeekCurrent); err != nil {
		f.position = -1
	}
	return f, nil
}

// Run copies until there is no more, or Stop is called.
func (f *Feed) Run() {
	_ = Pump(f.from, f.ended, func(data []byte) error { // in any case the program has seen all there was
		n, err := f.to.Write(data)
		f.taken += int64(n)
		return err
	})
	f.to.Close()
}

// Stop has run return.
func (f *Feed) Stop() {
	_ = f.to.SetWriteDeadline(time.Unix(1, 0)) // or it is closed, and has no writer
	f.end.Close()
}

// Close gives back the input that the program did not read, where that is possible, as if it had
// read from our input itself. For after run.
func (f *Feed) Close() {
	if left, err := unix.IoctlGetInt(int(f.Program.Fd()), unix.TIOCINQ); err == nil && f.position >= 0 {
		_, _ = f.from.Seek(f.position+f.taken-int64(left), io.SeekStart) // it could before
	}
	for _, file := range []*os.File{f.Program, f.to, f.ended, f.end} {
		file.Close()
	}
}

// Pump hands on the data of a file, until it ends, ended is readable, or take fails. A terminal has
// no data for a process that is not in its foreground: a read would stop us.
func Pump(from, ended *os.File, take func([]byte) error) error {
	fd := int(from.Fd())
	buf := make([]byte, 64<<10)
	for {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(ended.Fd()), Events: unix.POLLIN}}
		_, err := unix.Poll(poll, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || poll[1].Revents != 0 {
			return err
		}
		if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil && group != unix.Getpgrp() {
			return io.EOF
		}
		n, err := from.Read(buf)
		if n > 0 {
			if err := take(buf[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// The modes by which a program that has one end of a pipe opens it once more by its name, such
// as /dev/stdin. It is neither the pipe's owner nor of his group.
const (
	MayRead  = 0o004
	MayWrite = 0o002
)

// NewPipe makes a pipe, one end of which is a program's.
func NewPipe(mode os.FileMode) (r, w *os.File, err error) {
	if r, w, err = os.Pipe(); err != nil {
		return nil, nil, fmt.Errorf("making a pipe: %w", err)
	}
	if err := r.Chmod(mode); err != nil {
		return nil, nil, errors.Join(err, r.Close(), w.Close())
	}
	return r, w, nil
}
