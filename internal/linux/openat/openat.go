// Package openat opens what is at a path within a directory, by the rules of openat2(2).
package openat

import (
	"errors"

	"golang.org/x/sys/unix"
)

// tries bounds how often the kernel may have to be asked.
const tries = 128

// At opens the path below the directory as how says, and returns a descriptor, which the caller
// closes. Where a path leads up again, by itself or by a link, the kernel gives up with EAGAIN
// when anything on the machine is renamed or mounted meanwhile, since it cannot tell then
// whether it is still inside. It is asked again.
func At(dir int, path string, how *unix.OpenHow) (fd int, err error) {
	for range tries {
		fd, err = unix.Openat2(dir, path, how)
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	return fd, err
}
