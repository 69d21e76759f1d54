package child

import (
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/confine"
)

// Capabilities are those that the executor has of its broker's, by the calls that need them. It has no other from its first instruction on, and
// no other when it executes a program.
func Capabilities() []uintptr {
	// Tools in the root of a sandbox, and files that operators and users name, which have owners of their own.
	return []uintptr{unix.CAP_DAC_OVERRIDE}
}

// heldCapabilities are those of [Capabilities] that this process has itself: root of a container may have fewer.
func heldCapabilities() ([]uintptr, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return nil, fmt.Errorf("reading capabilities: %w", err)
	}
	return slices.DeleteFunc(Capabilities(), func(c uintptr) bool { return data[c/32].Permitted&(1<<(c%32)) == 0 }), nil
}

// shed takes all other capabilities from the programs that the calling thread starts, for good, the way to get any by a set-uid program, and
// system calls that no executor makes.
func shed() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clearing the ambient capabilities: %w", err)
	}
	kept := Capabilities()
	for capability := uintptr(0); capability < 64; capability++ {
		if slices.Contains(kept, capability) {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // the kernel has no more
		}
		if err != nil {
			return fmt.Errorf("dropping capability %d: %w", capability, err)
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("reading capabilities: %w", err)
	}
	data[0].Inheritable, data[1].Inheritable = 0, 0
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("dropping inheritable capabilities: %w", err)
	}
	return confine.RefuseCalls()
}
