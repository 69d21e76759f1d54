package sockets

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/seccomp"
)

// Calls returns those that the list of system calls denies and yurt-init makes. They must be
// allowed to it; the filter of [Load] takes them from all that the thread starts.
func Calls() []uint32 { return []uint32{unix.SYS_SECCOMP, unix.SYS_PIDFD_GETFD} }

// Offsets in struct seccomp_data.
const (
	offsetCall = 0
	offsetArch = 4
	offsetArg0 = 16 + lowHalf
	offsetArg1 = 24 + lowHalf
)

// Setting differs between sandboxes.
type Setting struct {
	// Loads says that children load the whole list by themselves, as their last step but one.
	Loads bool
	// BoundsTCP has sockets of TCP counted, as is needed on cgroup v1: each may hold some buffers
	// there however much the cgroup has already, which only version 2 charges to its memory.
	BoundsTCP bool
	// OwnNetwork says that the network namespace is the sandbox's alone, so that the kernel's figures of it are too.
	OwnNetwork bool
}

// Instructions of a filter.
const (
	load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
)

// end is the instruction that ends a filter with an action.
func end(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}

// program hands over the calls, and takes [Calls] back.
func program(setting Setting) []unix.SockFilter {
	loading := end(unix.SECCOMP_RET_ERRNO | uint32(unix.EINVAL)) // as by a kernel without filters
	if setting.Loads {
		loading = end(unix.SECCOMP_RET_ALLOW)
	}
	connecting := end(unix.SECCOMP_RET_ALLOW)
	if setting.BoundsTCP && setting.OwnNetwork {
		connecting = end(unix.SECCOMP_RET_USER_NOTIF)
	}
	list := []unix.SockFilter{
		{Code: load, K: offsetArch},
		{Code: equal, K: nativeArch, Jt: 1},
		end(unix.SECCOMP_RET_ALLOW), // the list decides
		{Code: load, K: offsetCall},
	}
	for _, number := range makesEvents() {
		list = append(list, unix.SockFilter{Code: equal, K: number, Jf: 1}, end(unix.SECCOMP_RET_USER_NOTIF))
	}
	list = append(list, []unix.SockFilter{
		{Code: equal, K: unix.SYS_LISTEN, Jf: 1},
		end(unix.SECCOMP_RET_USER_NOTIF),
		{Code: equal, K: unix.SYS_CONNECT, Jf: 1},
		connecting,
		{Code: equal, K: unix.SYS_FLOCK, Jf: 1},
		end(unix.SECCOMP_RET_USER_NOTIF),
		{Code: equal, K: unix.SYS_FCNTL, Jf: 10},
		{Code: load, K: offsetArg1},
		{Code: equal, K: unix.F_SETLK, Jt: 7},
		{Code: equal, K: unix.F_SETLKW, Jt: 6},
		{Code: equal, K: unix.F_OFD_SETLK, Jt: 5},
		{Code: equal, K: unix.F_OFD_SETLKW, Jt: 4},
		{Code: equal, K: unix.F_SETOWN, Jt: 3},
		{Code: equal, K: unix.F_SETOWN_EX, Jt: 2},
		{Code: equal, K: unix.F_SETSIG, Jt: 1},
		end(unix.SECCOMP_RET_ALLOW),
		end(unix.SECCOMP_RET_USER_NOTIF),
		{Code: equal, K: unix.SYS_PIDFD_GETFD, Jf: 1},
		end(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)),
		{Code: equal, K: unix.SYS_SECCOMP, Jf: 4},
		{Code: load, K: offsetArg0},
		{Code: equal, K: unix.SECCOMP_SET_MODE_FILTER, Jf: 1},
		loading,
		end(unix.SECCOMP_RET_ALLOW),
		{Code: equal, K: unix.SYS_SOCKET, Jt: 1},
		end(unix.SECCOMP_RET_ALLOW),
		{Code: load, K: offsetArg0},
		{Code: equal, K: unix.AF_NETLINK, Jf: 1},
		end(unix.SECCOMP_RET_USER_NOTIF),
	}...)
	if setting.BoundsTCP {
		list = append(list,
			unix.SockFilter{Code: equal, K: unix.AF_UNIX, Jf: 1},
			end(unix.SECCOMP_RET_ALLOW),
			unix.SockFilter{Code: load, K: offsetArg1},
			unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: seccomp.TypeOfSocket},
			unix.SockFilter{Code: equal, K: unix.SOCK_STREAM, Jf: 1},
			end(unix.SECCOMP_RET_USER_NOTIF),
		)
	}
	return append(list, end(unix.SECCOMP_RET_ALLOW))
}

// Flags of seccomp(2). The second is of Linux 5.19; without it a signal can interrupt the
// caller while the call is made for it, which then makes it again.
const (
	newListener  = 1 << 3
	waitKillable = 1 << 5
)

// Load has the kernel hand over the calls of the calling thread, and of all that it starts from
// then on. It returns the descriptor by which they come.
func Load(setting Setting) (int, error) {
	list := program(setting)
	fprog := &unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	fd, errno := uintptr(0), syscall.Errno(0)
	for _, flags := range []uintptr{newListener | waitKillable, newListener} {
		fd, _, errno = syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(fprog)))
		if !errors.Is(errno, unix.EINVAL) {
			break
		}
	}
	runtime.KeepAlive(fprog)
	if errno != 0 {
		return -1, fmt.Errorf("having calls handed over: %w", errno)
	}
	unix.CloseOnExec(int(fd))
	return int(fd), nil
}
