// Package openat opens a path within a directory, by the rules of openat2(2).
package openat

import (
	"errors"
	"fmt"
	"strings"

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

// Root opens the root directory of a process as a place from which paths are resolved. The caller closes it.
func Root(pid int) (int, error) {
	root, err := unix.Open(fmt.Sprintf("/proc/%d/root", pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("opening the root of process %d: %w", pid, err)
	}
	return root, nil
}

// Inside opens the absolute path in the root of a process. A link anywhere in the path is an error (ELOOP): links there are
// the work of the process or of its image, and the path is the node's. The caller closes the descriptor.
func Inside(pid int, path string, flags uint64) (int, error) {
	root, err := Root(pid)
	if err != nil {
		return 0, err
	}
	defer unix.Close(root)
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := At(root, "./"+strings.TrimPrefix(path, "/"), &how)
	if err != nil {
		return 0, fmt.Errorf("opening %s in the root of process %d: %w", path, pid, err)
	}
	return fd, nil
}
