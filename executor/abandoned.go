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
)

// abandonedAfter is how old a state directory must be to be taken for abandoned: one
// that is being made is not locked yet.
const abandonedAfter = 10 * time.Second

// RemoveAbandoned ends the sandboxes on the state directory of an executor that was
// killed, and removes the directory. One that is in use, or is none, it leaves alone.
func RemoveAbandoned(stateDir string) error {
	dir, err := os.Lstat(stateDir)
	if err != nil {
		return fmt.Errorf("looking at %s: %w", stateDir, err)
	}
	// Such directories lie among everybody's: another user's is not ours to touch.
	if !rundir.IsOurs(dir) {
		return nil
	}
	lock, err := os.OpenFile(filepath.Join(stateDir, "lock"), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at %s: %w", stateDir, err)
	}
	defer lock.Close()
	info, err := lock.Stat()
	if err != nil || time.Since(info.ModTime()) < abandonedAfter {
		return err
	}
	if unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil // in use
	}
	if records.CheckFormat(stateDir, "") != nil {
		return nil // a newer version must remove its own files
	}
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
