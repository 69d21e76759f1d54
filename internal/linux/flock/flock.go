// Package flock takes locks of files that an earlier process may hold for a moment
// more: one that was killed, or a child that it had between fork and exec. The executor
// and its launcher lock with it. It never breaks a lock.
package flock

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Take locks the file for all holders of the descriptor or a copy of it. It gives up, with unix.EWOULDBLOCK, when another holds
// the lock for longer than patience.
func Take(file *os.File, patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		waits := errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR)
		if !waits || time.Now().After(deadline) {
			return err
		}
	}
}
