package sockets

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// register holds a number for each socket that was entered in it, until the last descriptor of the
// socket is closed, wherever that is.
type register struct{ fd int }

func newRegister() (*register, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("making a register of sockets: %w", err)
	}
	return &register{fd}, nil
}

// add enters the socket with the number, or changes its number.
func (r *register) add(fd int, number uint32) error {
	// The kernel shows the number as it is here; the event never comes.
	event := &unix.EpollEvent{Events: unix.EPOLLET, Fd: int32(number)}
	err := unix.EpollCtl(r.fd, unix.EPOLL_CTL_ADD, fd, event)
	if err == unix.EEXIST { //nolint:errorlint // of a call
		err = unix.EpollCtl(r.fd, unix.EPOLL_CTL_MOD, fd, event)
	}
	return err
}

func (r *register) count() (int, error) {
	list, err := r.list()
	return len(list), err
}

// entry is a socket of the register: its inode, and its number.
type entry struct {
	inode  uint64
	number uint32
}

// list returns the sockets that are still open.
func (r *register) list() ([]entry, error) {
	data, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(r.fd))
	if err != nil {
		return nil, fmt.Errorf("reading the register of sockets: %w", err)
	}
	var list []entry
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "tfd:") {
			continue
		}
		var e entry
		fields := strings.Fields(strings.ReplaceAll(line, ":", ": "))
		for i := 0; i+1 < len(fields); i++ {
			switch fields[i] {
			case "data:":
				var number uint64
				number, err = strconv.ParseUint(fields[i+1], 16, 64)
				e.number = uint32(number)
			case "ino:":
				e.inode, err = strconv.ParseUint(fields[i+1], 16, 64)
			}
			if err != nil {
				return nil, fmt.Errorf("reading the register of sockets: %q: %w", line, err)
			}
		}
		list = append(list, e)
	}
	return list, nil
}
