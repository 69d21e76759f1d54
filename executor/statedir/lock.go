package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/rundir"
	"github.com/yurtrun/yurt/internal/linux/flock"
)

const (
	// patience is how long an executor that was killed may take to be gone.
	patience = 3 * time.Second
	// launcherPatience is how long the launcher of a killed executor may take to end its sandboxes and itself.
	launcherPatience = 20 * time.Second
	// abandonedAfter is how old a state directory must be to be taken for abandoned: one
	// that is being made is not locked yet.
	abandonedAfter = 10 * time.Second
)

// Take makes the state directory and locks it. It fails if another broker has the directory.
func Take(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the state directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, Lock), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the state directory: %w", err)
	}
	if err := flock.Take(lock, patience); err != nil {
		err = yurt.Errorf(yurt.CodeUnavailable, "another yurt uses the state directory %s; stop it or give another directory", dir)
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// TakeAbandoned locks a state directory whose executor is gone. It returns nil if the executor is there or has only begun, and for a
// directory of another kind.
func TakeAbandoned(dir string) (*os.File, error) {
	lock, err := openLock(dir)
	if err != nil || lock == nil {
		return nil, err
	}
	info, err := lock.Stat()
	if err != nil || time.Since(info.ModTime()) < abandonedAfter || unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// TakeKilled locks the state directory of an executor that was killed a moment ago. It fails if the executor is still there some
// seconds later. It returns nil for a directory of another kind.
func TakeKilled(dir string) (*os.File, error) {
	lock, err := openLock(dir)
	if err != nil || lock == nil {
		return nil, err
	}
	if err := flock.Take(lock, patience); err != nil {
		return nil, errors.Join(fmt.Errorf("waiting for the executor on %s to end: %w", dir, err), lock.Close())
	}
	return lock, nil
}

// TakeLauncher takes the lock of the killed executor's launcher, which may be in the middle of a create: no sandbox comes into being
// behind the back of the clean-up.
func TakeLauncher(dir string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(dir, LauncherLock), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("waiting for the launcher on %s: %w", dir, err)
	}
	if err := flock.Take(lock, launcherPatience); err != nil {
		return nil, errors.Join(fmt.Errorf("waiting for the launcher on %s to end: %w", dir, err), lock.Close())
	}
	return lock, nil
}

// openLock opens the lock of the executor on the state directory. It returns nil for a directory without one, and for that of
// another user: such directories lie among those of all users.
func openLock(stateDir string) (*os.File, error) {
	dir, err := os.Lstat(stateDir)
	if err != nil {
		return nil, fmt.Errorf("looking at %s: %w", stateDir, err)
	}
	if !rundir.IsOurs(dir) {
		return nil, nil //nolint:nilnil // as documented
	}
	lock, err := os.OpenFile(filepath.Join(stateDir, Lock), os.O_RDWR|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // as documented
	}
	if err != nil {
		return nil, fmt.Errorf("looking at %s: %w", stateDir, err)
	}
	return lock, nil
}
