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

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/headroom"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/rundir"
)

// Names in a state directory.
const (
	Slots         = "slots"          // the directory of the records of slots
	Lock          = "lock"           // held by the broker; executors have copies
	LauncherLock  = "launcher.lock"  // held by the launcher for as long as it is there
	Draining      = "draining.json"  // is there while the node drains
	Layers        = "layers"         // the store of dependency layers, unless it is elsewhere
	Images        = "images"         // the store of images, unless it is elsewhere
	Disks         = "disks"          // the broker's directory of workspaces on disk
	TestedRuntime = "tested-runtime" // the plugin directory of a node that tests a runtime

	reserveFile = "reserve" // keeps room for writes that end something while the disk is full
	reserveSize = 1 << 20
)

// Record is the name of a sandbox's record in its own directory.
const Record = "sandbox.json"

// The names, in the directory of a sandbox among those of disks, of a workspace that is a disk image, or is bounded by quotas.
const (
	WorkspaceImage = "workspace.img"
	WorkspaceDir   = "workspace"
)

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

// LayOut makes the directories and gives them to the user of the executor. It fails if a newer version has left its files there. The caller is
// root, or the user. Entries of the state directory may be the work of an executor that was taken over, so it writes to no file there.
func LayOut(stateDir, runDir, version string, transient bool, user int) error {
	if err := records.CheckFormat(stateDir, version); err != nil {
		return err
	}
	for name, mode := range map[string]os.FileMode{rundir.Sandboxes: 0o700, Slots: 0o700, Disks: 0o755} { // executors list disks too
		if err := os.Mkdir(filepath.Join(stateDir, name), mode); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("making the state directory: %w", err)
		}
	}
	if err := rundir.Make(runDir, stateDir, version, user); err != nil {
		return err
	}
	if !transient { // which leaves no file behind
		if err := records.WriteFormat(runDir, version); err != nil {
			return err
		}
	}
	if user == os.Geteuid() {
		return nil
	}
	return errors.Join(give(stateDir, user), giveRunDir(runDir, user))
}

// Begin readies the directories, which were laid out, for a new executor, its user: it records the format, and removes
// the remains of the executor before it.
func Begin(stateDir, runDir, version string, transient bool) error {
	if err := rundir.Sweep(runDir); err != nil || transient {
		return err
	}
	return records.WriteFormat(stateDir, version)
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
type Dirs struct {
	State, Run string
	Open       *os.File // the state directory, wherever it is by now; nil to open it by its path
}

// OpenDisks opens the directory of workspaces on disk, which is this process's user's. The caller closes it.
func (d Dirs) OpenDisks() (*os.File, error) {
	dir, err := d.open(Disks)
	if err != nil {
		return nil, err
	}
	info, err := dir.Stat()
	if err != nil || rundir.OwnerOf(info) != os.Geteuid() {
		return nil, errors.Join(fmt.Errorf("%s is not the broker's own directory", dir.Name()), err, dir.Close())
	}
	return dir, nil
}

// OpenStores opens the directory of the executors' files on disk of all sandboxes. The caller closes it.
func (d Dirs) OpenStores() (*os.File, error) { return d.open(rundir.Sandboxes) }

// open opens a directory in the state directory, and follows no link there: it is the executor's.
func (d Dirs) open(name string) (*os.File, error) {
	at, path := unix.AT_FDCWD, filepath.Join(d.State, name)
	relative := path
	if d.Open != nil {
		at, relative = int(d.Open.Fd()), name
	}
	fd, err := unix.Openat(at, relative, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// StoreDir is the directory of an executor on disk for a sandbox.
func (d Dirs) StoreDir(id string) string { return filepath.Join(d.State, rundir.Sandboxes, id) }

// RecordDir is the directory of a sandbox's records. Versions without a runtime directory had records on disk, and there they stay.
func (d Dirs) RecordDir(id string) string {
	if _, err := os.Stat(filepath.Join(d.StoreDir(id), Record)); err == nil {
		return d.StoreDir(id)
	}
	return filepath.Join(d.Run, rundir.Sandboxes, id)
}
