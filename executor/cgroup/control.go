package cgroup

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Control files are opened without package os, which would register each with the runtime's
// poller and ask for its size: that takes four times as long as to open and read it.

// openControl opens a control file. The caller closes it.
func openControl(path string, flags int) (fd int, err error) {
	for {
		fd, err = unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// readControl reads a control file whole.
func readControl(path string) ([]byte, error) {
	fd, err := openControl(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	data := make([]byte, 0, 1024)
	for {
		n, err := unix.Read(fd, data[len(data):cap(data)])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, err
		case n == 0:
			return data, nil
		default:
			data = slices.Grow(data[:len(data)+n], 512)
		}
	}
}

// readOpen reads an open control file whole: every file that is kept open is shorter than the buffer. A second read,
// for its end, would make the kernel write all of it again.
func readOpen(file *os.File) ([]byte, error) {
	data := make([]byte, 1024)
	for {
		n, err := unix.Pread(int(file.Fd()), data, 0)
		if !errors.Is(err, unix.EINTR) {
			return data[:max(n, 0)], err
		}
	}
}

// writeControl writes a control file, which takes a value whole or not at all.
func writeControl(path, value string) error {
	fd, err := openControl(path, unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for {
		if _, err := unix.Write(fd, []byte(value)); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
