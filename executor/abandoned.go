package executor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/rundir"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/executor/statedir"
)

// RemoveAbandoned is [RemoveKilled] for a state directory whose executor may run, or has only begun: it leaves that one
// alone.
func RemoveAbandoned(stateDir string) error {
	lock, err := statedir.TakeAbandoned(stateDir)
	if err != nil || lock == nil {
		return err
	}
	defer lock.Close()
	return removeLocked(stateDir)
}

// RemoveKilled ends the sandboxes on the state directory of an executor that was killed a moment ago, and removes the directory. It
// fails if the executor is still there some seconds later. It leaves a directory of another kind alone.
func RemoveKilled(stateDir string) error {
	lock, err := statedir.TakeKilled(stateDir)
	if err != nil || lock == nil {
		return err
	}
	defer lock.Close()
	return removeLocked(stateDir)
}

// removeLocked ends the sandboxes on a state directory that the caller has locked, and removes the directory. The files of a newer
// version are left for that version to remove.
func removeLocked(stateDir string) error {
	if records.CheckFormat(stateDir, "") != nil {
		return nil
	}
	launcher, err := statedir.TakeLauncher(stateDir)
	if err != nil {
		return err
	}
	defer launcher.Close()
	groups, err := cgroup.Open(statedir.CgroupName(stateDir))
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
	if err := errors.Join(rundir.RemoveAll(stateDir, statedir.CgroupName(stateDir)), os.RemoveAll(stateDir)); err != nil {
		return fmt.Errorf("removing %s: %w", stateDir, err)
	}
	return nil
}

// removeStores removes the directories that all sandboxes of a state directory have on disk.
func removeStores(stateDir string) (err error) {
	dirs := statedir.Dirs{State: stateDir}
	for _, open := range []func() (*os.File, error){dirs.OpenDisks, dirs.OpenStores} {
		stores, opened := open()
		if errors.Is(opened, fs.ErrNotExist) {
			continue
		}
		if opened != nil {
			return opened
		}
		names, listed := stores.Readdirnames(-1)
		err = errors.Join(err, listed)
		for _, name := range names {
			err = errors.Join(err, broker.RemoveStore(stores, name))
		}
		stores.Close()
	}
	return err
}
