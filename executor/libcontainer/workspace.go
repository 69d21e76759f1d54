//go:build linux && cgo && seccomp

package libcontainer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/opencontainers/runtime-spec/specs-go"
	"github.com/opencontainers/selinux/go-selinux/label"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/disk/loop"
	"github.com/yurtrun/yurt/executor/launch"
)

// mountWorkspace mounts the disk image or the directory that the specification binds, if it
// binds one, where the sandbox's root can get at it, and has it bind the mount. The mount is
// needed until the sandbox has it: drop it then.
func mountWorkspace(req *launch.CreateRequest) (drop func() error, err error) {
	i := slices.IndexFunc(req.Spec.Mounts, func(m specs.Mount) bool { return m.Type == "bind" })
	if i < 0 {
		return func() error { return nil }, nil
	}
	source, err := openWorkspace(req.Workspace)
	if err != nil {
		return nil, fmt.Errorf("mounting the workspace: %w", err)
	}
	defer source.Close()
	dir := filepath.Join(skeletonDir, req.ID)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("mounting the workspace: %w", err)
	}
	if err := mountAt(fmt.Sprintf("/proc/self/fd/%d", source.Fd()), dir, req.Spec.Linux.MountLabel); err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	req.Spec.Mounts[i].Source = dir
	return func() error { return errors.Join(unix.Unmount(dir, unix.MNT_DETACH), os.Remove(dir)) }, nil
}

// openWorkspace opens a workspace as a place, and refuses another than the broker has made.
func openWorkspace(w *launch.Workspace) (*os.File, error) {
	if w == nil {
		return nil, errors.New("the request names none")
	}
	fd, err := unix.Open(w.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", w.Path, err)
	}
	file := os.NewFile(uintptr(fd), w.Path)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil || stat.Dev != w.Device || stat.Ino != w.Inode {
		return nil, errors.Join(fmt.Errorf("%s is another file than the broker has made", w.Path), err, file.Close())
	}
	return file, nil
}

func mountAt(source, dir, seLinux string) error {
	info, err := os.Stat(source)
	if err != nil {
		return fmt.Errorf("mounting the workspace: %w", err)
	}
	if !info.IsDir() {
		return loop.Mount(source, dir, seLinux)
	}
	// Files that are made in it inherit the type of its label.
	if err := label.SetFileLabel(source, seLinux); err != nil {
		return fmt.Errorf("labelling the workspace: %w", err)
	}
	if err := unix.Mount(source, dir, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting the workspace: %w", err)
	}
	return nil
}
