package run

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
)

// Stdio are descriptors that an execution gets as they are. Those that are nil it
// gets from the node, as any other execution.
//
// They are handed to untrusted code for good. So each is the reading or the writing
// end of a pipe, or a regular file that was opened for that alone, or /dev/null: never
// a directory, which would lead into the host's file system, nor a socket or a
// terminal, through which more can be done than to read and to write. A caller that
// hands in a file lets the code read and change it as far as the file's mode allows all users.
type Stdio struct{ Stdin, Stdout, Stderr *os.File }

// Files are those that are there, in the order of their numbers.
func (s Stdio) Files() (files []*os.File) {
	for _, f := range []*os.File{s.Stdin, s.Stdout, s.Stderr} {
		if f != nil {
			files = append(files, f)
		}
	}
	return files
}

// Duplicate returns descriptors of its own for the same, which outlive the call that
// brought them.
func (s Stdio) Duplicate() (own Stdio, err error) {
	for _, f := range []struct{ from, to **os.File }{{&s.Stdin, &own.Stdin}, {&s.Stdout, &own.Stdout}, {&s.Stderr, &own.Stderr}} {
		if *f.from == nil {
			continue
		}
		fd, err := unix.FcntlInt((*f.from).Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			own.Close()
			return Stdio{}, fmt.Errorf("keeping a descriptor: %w", err)
		}
		*f.to = os.NewFile(uintptr(fd), (*f.from).Name())
	}
	return own, nil
}

// Close closes the descriptors.
func (s Stdio) Close() { descriptor.CloseAll(s.Files()) }

// Check refuses descriptors that are not safe in the hands of untrusted code, or that the request has no use for.
func (s Stdio) Check(spec yurt.ExecutionSpec) error {
	switch {
	case spec.Terminal != nil && len(s.Files()) > 0:
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "tty", "an execution with a terminal takes no other descriptors")
	case s.Stdin != nil && (len(spec.Stdin) > 0 || spec.StdinOpen):
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "stdin", "give either a descriptor or data, not both")
	}
	for _, f := range []struct {
		name string
		file *os.File
		mode int
	}{{"stdin", s.Stdin, unix.O_RDONLY}, {"stdout", s.Stdout, unix.O_WRONLY}, {"stderr", s.Stderr, unix.O_WRONLY}} {
		if f.file == nil {
			continue
		}
		if err := checkDescriptor(f.file, f.mode); err != nil {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, f.name, "%w", err)
		}
	}
	return nil
}

// checkDescriptor says why a file cannot be handed to untrusted code, to be used in
// the mode alone that it has to be open in.
func checkDescriptor(file *os.File, mode int) error {
	var stat unix.Stat_t
	var flags int
	raw, err := file.SyscallConn()
	if err == nil {
		controlled := raw.Control(func(fd uintptr) {
			if flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0); err == nil {
				err = unix.Fstat(int(fd), &stat)
			}
		})
		err = cmp.Or(controlled, err)
	}
	if err != nil {
		return fmt.Errorf("looking at a descriptor: %w", err)
	}
	kind := stat.Mode & syscall.S_IFMT
	null := kind == syscall.S_IFCHR && stat.Rdev == unix.Mkdev(1, 3)
	switch {
	case kind != syscall.S_IFIFO && kind != syscall.S_IFREG && !null:
		return errors.New("it is neither a pipe nor a regular file, and no other is safe in the hands of untrusted code")
	case flags&unix.O_PATH != 0 || flags&unix.O_ACCMODE != mode:
		return errors.New("it is open for more than this, or not for it; open it for this alone")
	}
	return nil
}
