//go:build linux && cgo && seccomp

package libcontainer

import (
	"fmt"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// rlimit translates a limit for yurt-init, which sets it: a process that does not own the user namespace needs a capability for it
// that hosts withhold. It may not exceed this process's own limit, for the same reason.
func rlimit(r specs.POSIXRlimit) (string, error) {
	types := map[string]int{
		"RLIMIT_CORE": unix.RLIMIT_CORE, "RLIMIT_NOFILE": unix.RLIMIT_NOFILE, "RLIMIT_MSGQUEUE": unix.RLIMIT_MSGQUEUE,
		"RLIMIT_MEMLOCK": unix.RLIMIT_MEMLOCK, "RLIMIT_NICE": unix.RLIMIT_NICE, "RLIMIT_RTPRIO": unix.RLIMIT_RTPRIO,
		"RLIMIT_FSIZE": unix.RLIMIT_FSIZE, "RLIMIT_STACK": unix.RLIMIT_STACK, "RLIMIT_SIGPENDING": unix.RLIMIT_SIGPENDING,
	}
	kind, ok := types[r.Type]
	if !ok {
		return "", fmt.Errorf("limit %s is not supported", r.Type)
	}
	var have unix.Rlimit
	if err := unix.Getrlimit(kind, &have); err != nil {
		return "", fmt.Errorf("reading %s: %w", r.Type, err)
	}
	return fmt.Sprintf("%d=%d", kind, min(r.Hard, r.Soft, have.Max)), nil
}
