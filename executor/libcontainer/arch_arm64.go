//go:build cgo && seccomp

package libcontainer

import "golang.org/x/sys/unix"

const nativeArch = unix.AUDIT_ARCH_AARCH64
