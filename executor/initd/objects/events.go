package objects

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// MaxEvents is how many descriptors of instances of epoll, timers and counters of events a sandbox may have. Each file takes up to 256
// bytes that no cgroup is charged for. Messages in flight can hold as many more as one process may have open.
const MaxEvents = 32 << 10

// Events returns the budget of such files of a sandbox without any, whose processes are all in the directory of a /proc.
func Events(proc *os.File) (*Budget, error) {
	mount, err := ofNoFileSystem()
	if err != nil {
		return nil, err
	}
	of := func(dir string) (int, int) { return eventsOf(dir, mount), 0 }
	return newBudget(kind{most: MaxEvents, perCall: 1, refusal: unix.ENFILE, of: of}, proc), nil
}

// ofNoFileSystem returns the line by which /proc shows that a file is of the kernel's own and has no name, as these have.
func ofNoFileSystem() ([]byte, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("looking at an instance of epoll: %w", err)
	}
	defer unix.Close(epoll)
	info, err := os.ReadFile(fmt.Sprint("/proc/self/fdinfo/", epoll))
	if err != nil {
		return nil, fmt.Errorf("looking at an instance of epoll: %w", err)
	}
	for line := range bytes.Lines(info) {
		if bytes.HasPrefix(line, []byte("mnt_id:")) {
			return line, nil
		}
	}
	return nil, fmt.Errorf("looking at an instance of epoll: %q has no mnt_id", info)
}

// eventsOf returns how many descriptors of files of the mount the process has.
func eventsOf(dir string, mount []byte) (n int) {
	path, _, unknown := thread(dir)
	switch {
	case unknown:
		return MaxEvents
	case path == "":
		return 0
	}
	for _, fd := range names(path + "/fdinfo") {
		info, _ := os.ReadFile(path + "/fdinfo/" + fd) // it may have been closed
		if bytes.Contains(info, mount) {
			n++
		}
	}
	return n
}
