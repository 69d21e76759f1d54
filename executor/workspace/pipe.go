package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"
)

// MakePipe makes a FIFO at name, whose directory exists. Anybody in the sandbox may
// read it.
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
		if err := unix.Fchmodat(int(dir.Fd()), base, 0o644, 0); err != nil { // whatever our umask
			return fmt.Errorf("making the FIFO %s: %w", name, err)
		}
		return nil
	})
}

// OpenPipe opens the FIFO at name for writing; it does not wait for a reader, and a
// write to it can have a deadline. The caller closes it.
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
	return file, nil
}
