package executor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/headroom"
	"github.com/yurtrun/yurt/executor/node"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/rundir"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/internal/linux/flock"
)

// layOut makes the directories and records the format of their files. It fails if a newer version has left its files there.
func layOut(stateDir, runDir, version string, transient bool) error {
	if err := records.CheckFormat(stateDir, version); err != nil {
		return err
	}
	for _, name := range []string{rundir.Sandboxes, node.SlotsDir} {
		if err := os.MkdirAll(filepath.Join(stateDir, name), 0o700); err != nil {
			return fmt.Errorf("making the state directory: %w", err)
		}
	}
	if err := rundir.Make(runDir, stateDir, version); err != nil {
		return err
	}
	if transient {
		return nil // it leaves no file behind
	}
	return errors.Join(records.WriteFormat(stateDir, version), records.WriteFormat(runDir, version))
}

// CheckRoot returns an error in a process that is not root, and can have no broker.
func CheckRoot() error {
	if os.Geteuid() != 0 {
		return yurt.Errorf(yurt.CodeSandboxFailed, "sandboxes need root to be set up; run yurt as root (user code inside never is)")
	}
	return nil
}

// lockState makes the state directory and locks it.
func lockState(dir string) (*os.File, error) {
	if err := CheckRoot(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the state directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the state directory: %w", err)
	}
	if err := flock.Take(lock, lockPatience); err != nil {
		err = yurt.Errorf(yurt.CodeUnavailable, "another yurt uses the state directory %s; stop it or give another directory", dir)
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// lockPatience is how long an executor that was killed may take to be gone.
const lockPatience = 3 * time.Second

// launcherLock, in the state directory, is held by the launcher for as long as it is there.
const launcherLock = "launcher.lock"

const (
	// reserveFile, in the state directory, keeps room for writes that end something while the disk is full.
	reserveFile = "reserve"
	reserveSize = 1 << 20
)

// newRoom returns the room that an executor keeps in its state directory. A transient executor keeps no room.
func newRoom(stateDir string, transient bool) *headroom.Room {
	size := int64(reserveSize)
	if transient {
		size = 0
	}
	return headroom.New(filepath.Join(stateDir, reserveFile), size)
}

// sandboxDirs implements [broker.Dirs].
type sandboxDirs struct{ state, run string }

// StoreDir implements [broker.Dirs].
func (d sandboxDirs) StoreDir(id string) string { return filepath.Join(d.state, rundir.Sandboxes, id) }

// RecordDir implements [broker.Dirs]. Versions without a runtime directory had records on disk, and there they stay.
func (d sandboxDirs) RecordDir(id string) string {
	if _, err := os.Stat(filepath.Join(d.StoreDir(id), sandbox.RecordFile)); err == nil {
		return d.StoreDir(id)
	}
	return filepath.Join(d.run, rundir.Sandboxes, id)
}
