package executor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/rundir"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/internal/linux/flock"
)

// abandonedAfter is how old a state directory must be to be taken for abandoned: one
// that is being made is not locked yet.
const abandonedAfter = 10 * time.Second

// launcherPatience is how long the launcher of a killed executor may take to end its sandboxes and itself.
const launcherPatience = 20 * time.Second

// RemoveAbandoned is [RemoveKilled] for a state directory whose executor may run, or has only begun: it leaves that one
// alone.
func RemoveAbandoned(stateDir string) error {
	lock, err := openLock(stateDir)
	if err != nil || lock == nil {
		return err
	}
	defer lock.Close()
	info, err := lock.Stat()
	if err != nil || time.Since(info.ModTime()) < abandonedAfter {
		return err
	}
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil // in use
	}
	return removeLocked(stateDir)
}

// RemoveKilled ends the sandboxes on the state directory of an executor that was killed a moment ago, and removes the directory. It
// fails if the executor is still there some seconds later. It leaves a directory of another kind alone.
func RemoveKilled(stateDir string) error {
	lock, err := openLock(stateDir)
	if err != nil || lock == nil {
		return err
	}
	defer lock.Close()
	if err := flock.Take(lock, lockPatience); err != nil {
		return fmt.Errorf("waiting for the executor on %s to end: %w", stateDir, err)
	}
	return removeLocked(stateDir)
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
	lock, err := os.OpenFile(filepath.Join(stateDir, "lock"), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // as documented
	}
	if err != nil {
		return nil, fmt.Errorf("looking at %s: %w", stateDir, err)
	}
	return lock, nil
}

// removeLocked ends the sandboxes on a state directory that the caller has locked, and removes the directory. The files of a newer
// version are left for that version to remove.
func removeLocked(stateDir string) error {
	if records.CheckFormat(stateDir, "") != nil {
		return nil
	}
	launcher, err := awaitLauncher(stateDir)
	if err != nil {
		return err
	}
	defer launcher.Close()
	groups, err := cgroup.Open(CgroupName(stateDir))
	if err != nil {
		return err
	}
	names, err := groups.Names()
	if err != nil {
		return err
	}
	local := broker.NewLocal(broker.Config{Cgroups: groups})
	for _, name := range names {
		if err := sandbox.End(local, name); err != nil {
			return fmt.Errorf("ending abandoned sandbox %s: %w", name, err)
		}
	}
	groups.RemoveParent()
	if err := removeStores(stateDir); err != nil {
		return fmt.Errorf("removing %s: %w", stateDir, err)
	}
	if err := errors.Join(rundir.RemoveAll(stateDir, CgroupName(stateDir)), os.RemoveAll(stateDir)); err != nil {
		return fmt.Errorf("removing %s: %w", stateDir, err)
	}
	return nil
}

// awaitLauncher takes the lock of the killed executor's launcher, which may be in the middle of a create: no sandbox comes into being
// behind the back of the clean-up.
func awaitLauncher(stateDir string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(stateDir, launcherLock), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("waiting for the launcher on %s: %w", stateDir, err)
	}
	if err := flock.Take(lock, launcherPatience); err != nil {
		return nil, errors.Join(fmt.Errorf("waiting for the launcher on %s to end: %w", stateDir, err), lock.Close())
	}
	return lock, nil
}

// removeStores removes the directories that all sandboxes of a state directory have on disk.
func removeStores(stateDir string) error {
	dir := filepath.Join(stateDir, rundir.Sandboxes)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		err = errors.Join(err, broker.RemoveStore(filepath.Join(dir, entry.Name())))
	}
	return err
}
