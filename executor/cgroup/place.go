package cgroup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Place is a leaf on v2 that is made before its run, for a process that waits to become the run's. On v2 only a
// process's parent can have it born in a leaf. Moving it later waits for a lock of the whole kernel, so it is moved
// before the run is asked for.
type Place interface {
	Leaf
	// Entry is the file that moves the process whose number is written to it here. The
	// caller closes it.
	Entry() (*os.File, error)
	// Take makes it the leaf of the run of that name.
	Take(name string) error
	// Discard ends the processes inside and removes the leaf. No run can take it once Discard has begun.
	Discard(ctx context.Context) error
}

// ownerAttr is the attribute of a place that names whose it is: on v2 the kernel renames no
// directory. It lasts as long as the leaf does.
const ownerAttr = "user.yurt.run"

// maxOwner bounds the name in it, in bytes.
const maxOwner = 255

// NewPlace implements [Group]: on v1 a process enters the leaf itself, and at once.
func (g *groupV1) NewPlace(string) (Place, error) { return nil, errors.ErrUnsupported }

// NewPlace implements [Group].
func (g *groupV2) NewPlace(name string) (Place, error) {
	leaf, err := g.newLeaf(name)
	if err != nil {
		return nil, err
	}
	return leaf, nil
}

// Entry implements [Place].
func (l *leafV2) Entry() (*os.File, error) {
	path := filepath.Join(l.dir, "cgroup.procs")
	fd, err := openControl(path, unix.O_WRONLY)
	if err != nil {
		return nil, fmt.Errorf("opening a cgroup: %w", &os.PathError{Op: "open", Path: path, Err: err})
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Take implements [Place].
func (l *leafV2) Take(name string) error {
	if len(name) > maxOwner {
		return fmt.Errorf("a name of %d bytes is too long for a cgroup", len(name))
	}
	if err := unix.Setxattr(l.dir, ownerAttr, []byte(name), unix.XATTR_CREATE); err != nil {
		return fmt.Errorf("naming a cgroup: %w", &os.PathError{Op: "setxattr", Path: l.dir, Err: err})
	}
	return nil
}

// Discard implements [Place].
func (l *leafV2) Discard(ctx context.Context) error {
	if err := unix.Removexattr(l.dir, ownerAttr); err != nil && !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("naming a cgroup: %w", &os.PathError{Op: "removexattr", Path: l.dir, Err: err})
	}
	if err := l.Kill(ctx); err != nil {
		return err
	}
	for {
		if err := l.Remove(); !errors.Is(err, ErrBusy) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond): // a killed process leaves its cgroup a moment after it is gone
		}
	}
}

// ownerV2 returns whose the leaf in the directory is: the one that took it, or else the one
// that it is called after.
func ownerV2(dir string) string {
	var name [maxOwner]byte
	if n, err := unix.Getxattr(dir, ownerAttr, name[:]); err == nil {
		return string(name[:n])
	}
	return filepath.Base(dir)
}

// Find implements [Group]. A leaf that lacks some directories, since it is half named or half removed, is found too.
func (g *groupV1) Find(name string) (Leaf, error) {
	leaf := g.leaf(name)
	if !slices.ContainsFunc(leaf.dirs, isDir) {
		return nil, fmt.Errorf("finding a cgroup: %w", &os.PathError{Op: "lstat", Path: leaf.freezer, Err: os.ErrNotExist})
	}
	return leaf, nil
}

// Find implements [Group].
func (g *groupV2) Find(name string) (Leaf, error) {
	leaf := g.find(name)
	if !isDir(leaf.dir) {
		return nil, fmt.Errorf("finding a cgroup: %w", &os.PathError{Op: "lstat", Path: leaf.dir, Err: os.ErrNotExist})
	}
	return leaf, nil
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// find returns the leaf of a run. For an unknown name its methods fail as for a leaf that is gone.
func (g *groupV2) find(name string) *leafV2 {
	own := g.leaf(name)
	if _, err := os.Lstat(own.dir); err == nil {
		return own
	}
	leaves, err := subdirs(filepath.Join(g.dir, "runs"))
	if err != nil {
		return own
	}
	for _, dir := range leaves {
		if ownerV2(dir) == name {
			return &leafV2{dir: dir}
		}
	}
	return own
}
