package sockets

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/internal/linux/lockedthread"
)

// Bounds of connections that wait to be accepted, for all sockets of TCP in a sandbox that listen.
// Each can hold about twice the memory that tcp_rmem allows a socket, and no cgroup is charged for it.
const (
	MaxWaiting = 64 // and one more for each of MaxListens
	MaxListens = 48
	// share is the part of the room that is left which one socket gets at most: the first of
	// them get long queues, and later ones short ones.
	share = 2
)

// listen begins to listen in the caller's place, with a queue as long as there is room.
func (k *Keeper) listen(c *call) error {
	fd, err := k.take(c)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	backlog := int(int32(uint32(c.args[1])))
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil {
		return err
	}
	if domain != unix.AF_INET && domain != unix.AF_INET6 { // but those of Unix sockets are charged
		return listenAs(int(c.thread), fd, backlog)
	}
	if backlog, err = k.room(fd, backlog); err != nil {
		return err
	}
	if err := k.listens.add(fd, uint32(backlog)); err != nil {
		return err
	}
	return unix.Listen(fd, backlog)
}

// room returns how long the socket's queue may be.
func (k *Keeper) room(fd, wanted int) (int, error) {
	list, err := k.listens.list()
	if err != nil {
		return 0, err
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return 0, err
	}
	left, others := MaxWaiting, 0
	for _, e := range list {
		if e.inode != stat.Ino {
			left -= int(e.number)
			others++
		}
	}
	if others >= MaxListens {
		return 0, unix.ENOBUFS
	}
	if wanted < 0 { // by which the kernel means as many as may be
		wanted = MaxWaiting
	}
	return max(0, min(wanted, left/share)), nil
}

// take returns a descriptor of our own of the caller's socket.
func (k *Keeper) take(c *call) (int, error) {
	process, err := openThread(int(c.thread))
	if err != nil {
		return -1, err
	}
	defer unix.Close(process)
	// That the number was not given to another thread meanwhile.
	if err := ask(k.fd, isCallValid, unsafe.Pointer(&c.id)); err != nil {
		return -1, err
	}
	return unix.PidfdGetfd(process, int(int32(uint32(c.args[0]))), 0)
}

// openThread returns a descriptor of the thread, or on Linux before 6.9 of its process.
func openThread(thread int) (int, error) {
	const pidfdThread = unix.O_EXCL
	fd, err := unix.PidfdOpen(thread, pidfdThread)
	if !errors.Is(err, unix.EINVAL) {
		return fd, err
	}
	s, err := readStatus(thread)
	if err != nil {
		return -1, err
	}
	return unix.PidfdOpen(s.process, 0)
}

// status has the fields of a thread in /proc.
type status struct{ process, uid, gid int }

func readStatus(thread int) (s status, err error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(thread) + "/status")
	if err != nil {
		return s, unix.EPERM // it hides from us
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "Tgid:":
			s.process, err = strconv.Atoi(fields[1])
		case "Uid:":
			s.uid, err = strconv.Atoi(fields[2]) // the effective one
		case "Gid:":
			s.gid, err = strconv.Atoi(fields[2])
		}
		if err != nil {
			return s, fmt.Errorf("reading the status of a thread: %q: %w", line, err)
		}
	}
	return s, nil
}

// listenAs listens with the user and group of the thread, which those that connect to a Unix
// socket are told.
func listenAs(thread, fd, backlog int) error {
	s, err := readStatus(thread)
	if err != nil {
		return err
	}
	lockedthread.Run(func() { err = becomeAndListen(s, fd, backlog) })
	return err
}

// becomeAndListen changes the calling thread alone.
func becomeAndListen(s status, fd, backlog int) error {
	const keep = ^uintptr(0)
	for _, c := range [][4]uintptr{
		{unix.SYS_SETRESGID, keep, uintptr(s.gid), keep},
		{unix.SYS_SETRESUID, keep, uintptr(s.uid), keep},
		{unix.SYS_LISTEN, uintptr(fd), uintptr(backlog), 0},
	} {
		if _, _, errno := syscall.RawSyscall(c[0], c[1], c[2], c[3]); errno != 0 {
			return errno
		}
	}
	return nil
}
