// Package descriptor has operations on file descriptors that several packages share.
package descriptor

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Duplicate returns another descriptor of the same open file, above those of stdin, stdout and stderr.
func Duplicate(file *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("duplicating a descriptor: %w", err)
	}
	return os.NewFile(uintptr(fd), file.Name()), nil
}

// CloseAll closes the files.
func CloseAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
