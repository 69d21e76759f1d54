// Package statedir has the state directory of an executor: the names in it, its lock, and the directories that belong to it
// elsewhere.
package statedir

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/yurtrun/yurt/executor/headroom"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/rundir"
)

// Names in a state directory.
const (
	Slots        = "slots"         // the directory of the records of slots
	Lock         = "lock"          // held by the broker; executors have copies
	LauncherLock = "launcher.lock" // held by the launcher for as long as it is there

	reserveFile = "reserve" // keeps room for writes that end something while the disk is full
	reserveSize = 1 << 20
)

// Record is the name of a sandbox's record in its own directory.
const Record = "sandbox.json"

// RunDir returns the runtime directory of the executor on the state directory, an absolute
// path. With base "" it is below [rundir.Default].
func RunDir(base, stateDir string) string {
	return filepath.Join(cmp.Or(base, rundir.Default), CgroupName(stateDir))
}

// CgroupName names the directory, in each cgroup hierarchy, of the executor on the
// state directory, an absolute path. Several executors on one machine never touch
// each other's.
func CgroupName(stateDir string) string {
	sum := sha256.Sum256([]byte(stateDir))
	return "yurt-" + hex.EncodeToString(sum[:6])
}

// LayOut makes the directories and records the format of their files. It fails if a newer version has left its files there.
func LayOut(stateDir, runDir, version string, transient bool) error {
	if err := records.CheckFormat(stateDir, version); err != nil {
		return err
	}
	for _, name := range []string{rundir.Sandboxes, Slots} {
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

// NewRoom returns the room that an executor keeps in its state directory. A transient executor keeps no room.
func NewRoom(stateDir string, transient bool) *headroom.Room {
	size := int64(reserveSize)
	if transient {
		size = 0
	}
	return headroom.New(filepath.Join(stateDir, reserveFile), size)
}

// Dirs has the directories of each sandbox on a node. It implements the interface of the same name of package broker.
type Dirs struct{ State, Run string }

// StoreDir is the directory of a sandbox on disk.
func (d Dirs) StoreDir(id string) string { return filepath.Join(d.State, rundir.Sandboxes, id) }

// RecordDir is the directory of a sandbox's records. Versions without a runtime directory had records on disk, and there they stay.
func (d Dirs) RecordDir(id string) string {
	if _, err := os.Stat(filepath.Join(d.StoreDir(id), Record)); err == nil {
		return d.StoreDir(id)
	}
	return filepath.Join(d.Run, rundir.Sandboxes, id)
}
