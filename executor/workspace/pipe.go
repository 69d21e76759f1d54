package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"
)

// MakePipe makes a FIFO at name, whose directory exists. All users in the sandbox may read it.
func (d *Dir) MakePipe(name string) error {
	return d.as(func() error {
		dir, err := d.root.Open(path.Dir(name))
		if err != nil {
			return explain(name, err)
		}
		defer dir.Close()
		base := path.Base(name)
		if err := unix.Mkfifoat(int(dir.Fd()), base, 0o600); err != nil {
			return fmt.Errorf("making the FIFO %s: %w", name, err)
		}
		if err := unix.Fchmodat(int(dir.Fd()), base, 0o644, 0); err != nil { // with any umask
			return fmt.Errorf("making the FIFO %s: %w", name, err)
		}
		return nil
	})
}

// OpenPipe opens the FIFO at name for writing. Neither that nor a write waits for a reader: a write
// for which there is no room is [syscall.EAGAIN]. The caller closes it.
func (d *Dir) OpenPipe(name string) (*os.File, error) {
	var file *os.File
	err := d.as(func() (err error) {
		// Opened for reading too, a FIFO needs no reader.
		file, err = d.root.OpenFile(name, os.O_RDWR|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
		return err
	})
	if err != nil {
		return nil, explain(name, err)
	}
	if info, err := file.Stat(); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		file.Close()
		return nil, fmt.Errorf("opening the FIFO %s: it is none: %w", name, err)
	}
	defer file.Close()
	return Unpolled(file)
}

// Unpolled returns the same FIFO without the runtime's poller, which each write and each read at the other end would wake. A
// blocking descriptor that becomes a file has no poller. The one that was given stays the caller's.
func Unpolled(fifo *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(fifo.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the FIFO %s: %w", fifo.Name(), err)
	}
	blocks := unix.SetNonblock(fd, false)
	file := os.NewFile(uintptr(fd), fifo.Name())
	if err := errors.Join(blocks, unix.SetNonblock(fd, true)); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the FIFO %s: %w", fifo.Name(), err), file.Close())
	}
	return file, nil
}
