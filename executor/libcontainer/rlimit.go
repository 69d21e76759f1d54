//go:build linux && cgo && seccomp

package libcontainer

import (
	"fmt"

	"github.com/opencontainers/runc/libcontainer/configs"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// rlimit translates a limit. It may not exceed this process's own limit: to exceed it takes a capability that hosts
// withhold.
func rlimit(r specs.POSIXRlimit) (configs.Rlimit, error) {
	types := map[string]int{
		"RLIMIT_CORE": unix.RLIMIT_CORE, "RLIMIT_NOFILE": unix.RLIMIT_NOFILE, "RLIMIT_MSGQUEUE": unix.RLIMIT_MSGQUEUE,
		"RLIMIT_MEMLOCK": unix.RLIMIT_MEMLOCK, "RLIMIT_NICE": unix.RLIMIT_NICE, "RLIMIT_RTPRIO": unix.RLIMIT_RTPRIO,
		"RLIMIT_FSIZE": unix.RLIMIT_FSIZE, "RLIMIT_STACK": unix.RLIMIT_STACK, "RLIMIT_SIGPENDING": unix.RLIMIT_SIGPENDING,
	}
	kind, ok := types[r.Type]
	if !ok {
		return configs.Rlimit{}, fmt.Errorf("limit %s is not supported", r.Type)
	}
	var have unix.Rlimit
	if err := unix.Getrlimit(kind, &have); err != nil {
		return configs.Rlimit{}, fmt.Errorf("reading %s: %w", r.Type, err)
	}
	hard := min(r.Hard, have.Max)
	return configs.Rlimit{Type: kind, Hard: hard, Soft: min(r.Soft, hard)}, nil
}
