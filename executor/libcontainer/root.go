//go:build linux && cgo && seccomp

package libcontainer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/launch"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
	"github.com/yurtrun/yurt/internal/linux/overlay"
)

// bottomDir is an empty directory in a file system that never changes. It is the first layer of each overlay: sizes and free space
// of the mount are those of this file system, and not of the host's disk.
const bottomDir = skeletonDir + "/.bottom"

func makeBottom() error {
	if err := os.Mkdir(bottomDir, 0o755); err != nil {
		return fmt.Errorf("making an empty layer: %w", err)
	}
	if err := unix.Mount("empty", bottomDir, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=0755,size=4k,nr_inodes=2"); err != nil {
		return fmt.Errorf("mounting an empty layer: %w", err)
	}
	return nil
}

// tree is a directory of the host that sandboxes see at the same path, or some files of it alone.
type tree struct {
	path  string
	files []string // names; nil for the whole directory
}

// treesOf returns the trees of the paths, and of the mounts below them. A later mount of the host's does not appear.
func treesOf(paths []string) (trees []tree, err error) {
	mounts, err := mountinfo.GetMounts(nil)
	if err != nil {
		return nil, fmt.Errorf("reading mounts: %w", err)
	}
	all := slices.Clone(paths)
	for _, m := range mounts {
		if slices.ContainsFunc(paths, func(path string) bool { return strings.HasPrefix(m.Mountpoint, path+"/") }) {
			all = append(all, m.Mountpoint)
		}
	}
	slices.Sort(all) // parents first
	for _, path := range slices.Compact(all) {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if info.IsDir() {
			trees = append(trees, tree{path: path})
			continue
		}
		dir, name := filepath.Split(path)
		dir = filepath.Clean(dir)
		i := slices.IndexFunc(trees, func(t tree) bool { return t.path == dir && t.files != nil })
		if i < 0 {
			i, trees = len(trees), append(trees, tree{path: dir})
		}
		trees[i].files = append(trees[i].files, name)
	}
	return trees, nil
}

// root is the root file system of one sandbox, mounted where this process alone sees it.
//
// Each directory in it is an overlay, without a layer to write to, over a directory that sandboxes share. So a sandbox has inodes of
// its own, and neither locks of files nor notifications about them reach other sandboxes or the host; the pages of files are still
// shared. The mounts are read-only, without devices and set-uid. A sandbox cannot take that back: its mount namespace is one of
// lesser privilege.
type root struct {
	path   string
	mounts []string // the topmost ones, which have the others below them
	dirs   []string
}

// root mounts the root file system for the request, and names it in the specification.
func (s *server) root(req *launch.CreateRequest) (*root, error) {
	made, err := s.skeletons.of(req.Layout)
	if err != nil {
		return nil, err
	}
	r := &root{}
	if r.path, err = os.MkdirTemp(skeletonDir, req.ID+".root-"); err != nil {
		return nil, fmt.Errorf("mounting the root file system: %w", err)
	}
	r.dirs = append(r.dirs, r.path)
	if err := r.build(made); err != nil {
		r.drop()
		return nil, fmt.Errorf("mounting the root file system: %w", err)
	}
	req.Spec.Root.Path = r.path
	return r, nil
}

const harmless = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

func (r *root) build(s *skeleton) error {
	layers := []string{bottomDir, s.path}
	if s.root.Image != "" {
		layers = append(layers, s.root.Image)
	}
	if err := mountOverlay(r.path, harmless, layers...); err != nil {
		return err
	}
	r.mounts = append(r.mounts, r.path)
	const devices = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC
	if err := mountOverlay(filepath.Join(r.path, layout.DevDir), devices, bottomDir, filepath.Join(s.path, layout.DevDir)); err != nil {
		return err
	}
	for i, t := range s.trees {
		if t.files == nil {
			if err := mountOverlay(filepath.Join(r.path, t.path), harmless, bottomDir, t.path); err != nil {
				return err
			}
			continue
		}
		if err := r.mountFiles(t, fmt.Sprintf("%s.%d", r.path, i)); err != nil {
			return err
		}
	}
	return nil
}

// mountOverlay mounts the layers at the place.
func mountOverlay(place string, attributes int, layers ...string) error {
	mount, err := overlay.New(attributes, layers...)
	if err != nil {
		return err
	}
	defer mount.Close()
	if err := unix.MoveMount(int(mount.Fd()), "", unix.AT_FDCWD, place, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mounting at %s: %w", place, err)
	}
	return nil
}

// mountFiles mounts files of a directory, which is mounted itself at the place, where no sandbox sees it.
func (r *root) mountFiles(t tree, place string) error {
	if err := os.Mkdir(place, 0o700); err != nil {
		return err
	}
	r.dirs = append(r.dirs, place)
	if err := mountOverlay(place, harmless, bottomDir, t.path); err != nil {
		return err
	}
	r.mounts = append(r.mounts, place)
	for _, name := range t.files {
		file, err := unix.OpenTree(unix.AT_FDCWD, filepath.Join(place, name), unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_SYMLINK_NOFOLLOW)
		if err != nil {
			return fmt.Errorf("finding %s: %w", filepath.Join(t.path, name), err)
		}
		target := filepath.Join(r.path, t.path, name)
		err = unix.MoveMount(file, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH)
		if err := errors.Join(err, unix.Close(file)); err != nil {
			return fmt.Errorf("mounting at %s: %w", target, err)
		}
	}
	return nil
}

// drop unmounts the root after a pause, in which a new sandbox, which has mounts of its own, has the machine to itself. A mount that
// cannot be unmounted stays until this process ends, with its directory.
func (r *root) drop() {
	time.AfterFunc(tidyAfter, func() {
		for _, place := range r.mounts { // each unmount waits for all processors, so the mounts below go along
			_ = unix.Unmount(place, unix.MNT_DETACH)
		}
		for _, dir := range r.dirs {
			_ = os.Remove(dir)
		}
	})
}
