package oci

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// Uptime holds the host's clocks that count from its start. A sandbox that could read them would learn the host's
// uptime, which distinguishes hosts.
type Uptime struct {
	Monotonic, Boottime int64 // whole seconds
}

// HostUptime reads the clocks; nil on a kernel without time namespaces.
func HostUptime() (*Uptime, error) {
	if _, err := os.Stat("/proc/self/ns/time"); errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // as documented
	}
	seconds := func(clock int32) (int64, error) {
		var now unix.Timespec
		if err := unix.ClockGettime(clock, &now); err != nil {
			return 0, fmt.Errorf("reading the host's clocks: %w", err)
		}
		return now.Sec, nil
	}
	monotonic, err := seconds(unix.CLOCK_MONOTONIC)
	if err != nil {
		return nil, err
	}
	boottime, err := seconds(unix.CLOCK_BOOTTIME)
	return &Uptime{monotonic, boottime}, err
}

// hide gives the sandbox clocks that begin about now.
func (u *Uptime) hide(linux *specs.Linux) {
	linux.Namespaces = append(linux.Namespaces, specs.LinuxNamespace{Type: specs.TimeNamespace})
	linux.TimeOffsets = map[string]specs.LinuxTimeOffset{
		"monotonic": {Secs: -u.Monotonic}, "boottime": {Secs: -u.Boottime},
	}
}
