package sockets

import "golang.org/x/sys/unix"

const (
	nativeArch = unix.AUDIT_ARCH_AARCH64
	lowHalf    = 0 // where the lower half of an argument is
)

// makesEvents are the calls that make instances of epoll, timers and counters of events.
func makesEvents() []uint32 {
	return []uint32{unix.SYS_EPOLL_CREATE1, unix.SYS_EVENTFD2, unix.SYS_TIMERFD_CREATE}
}
