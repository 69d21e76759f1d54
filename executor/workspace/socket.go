package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// Listen makes a Unix socket at name, in place of an earlier one, and listens at it. Each process
// in the sandbox may connect; backlog connections wait to be accepted.
func (d *Dir) Listen(name string, backlog int) (listener net.Listener, err error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("making the socket %s: %w", name, err)
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	err = d.as(func() error {
		dir, err := d.root.Open(path.Dir(name))
		if err != nil {
			return explain(name, err)
		}
		defer dir.Close()
		return bindIn(dir, path.Base(name), fd)
	})
	if err != nil {
		return nil, fmt.Errorf("making the socket %s: %w", name, err)
	}
	if err := unix.Listen(fd, backlog); err != nil {
		return nil, fmt.Errorf("listening at %s: %w", name, err)
	}
	if listener, err = net.FileListener(file); err != nil {
		return nil, fmt.Errorf("listening at %s: %w", name, err)
	}
	return listener, nil
}

// bindIn binds a socket to a name in the directory.
func bindIn(dir *os.File, base string, fd int) error {
	if err := unix.Unlinkat(int(dir.Fd()), base, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), base)}); err != nil {
		return err
	}
	return unix.Fchmodat(int(dir.Fd()), base, 0o666, 0) // in spite of our umask
}
