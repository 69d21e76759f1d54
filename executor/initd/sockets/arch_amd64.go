package sockets

import "golang.org/x/sys/unix"

const (
	nativeArch = unix.AUDIT_ARCH_X86_64
	lowHalf    = 0 // where the lower half of an argument is
)
