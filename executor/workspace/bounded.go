package workspace

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// powers are the capabilities of this process: all of them, and without the one by which
// root may exceed quotas of disks.
type powers struct{ all, fewer [2]unix.CapUserData }

func ownPowers() (p powers, err error) {
	if err := unix.Capget(capHeader(), &p.all[0]); err != nil {
		return p, fmt.Errorf("reading the capabilities of this process: %w", err)
	}
	p.fewer = p.all
	p.fewer[0].Effective &^= 1 << unix.CAP_SYS_RESOURCE
	return p, nil
}

func capHeader() *unix.CapUserHeader {
	return &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3} // of the calling thread
}

// bounded runs do, which must not start goroutines, as one that quotas hold for.
func (p powers) bounded(do func() error) error {
	runtime.LockOSThread()
	if err := unix.Capset(capHeader(), &p.fewer[0]); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("giving up a capability: %w", err)
	}
	defer func() {
		// A thread that is not its old self stays locked, and ends with its goroutine.
		if unix.Capset(capHeader(), &p.all[0]) == nil {
			runtime.UnlockOSThread()
		}
	}()
	return do()
}

// boundedFile is a file that is written to within the quotas of disks.
type boundedFile struct {
	file   *os.File
	powers powers
}

func (f boundedFile) Write(data []byte) (n int, err error) {
	err = f.powers.bounded(func() error {
		n, err = f.file.Write(data)
		return err
	})
	return n, err
}
