//go:build linux && cgo && seccomp

package libcontainer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/opencontainers/runtime-spec/specs-go"
	"github.com/opencontainers/selinux/go-selinux/label"
	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/disk/loop"
)

// mountWorkspace mounts the disk image or the directory that the specification binds, if it
// binds one, where the sandbox's root can get at it, and has it bind the mount. The mount is
// needed until the sandbox has it: drop it then.
func mountWorkspace(id string, spec *specs.Spec) (drop func() error, err error) {
	for i := range spec.Mounts {
		m := &spec.Mounts[i]
		if m.Type != "bind" {
			continue
		}
		dir := filepath.Join(skeletonDir, id)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, fmt.Errorf("mounting the workspace: %w", err)
		}
		if err := mountAt(m.Source, dir, spec.Linux.MountLabel); err != nil {
			return nil, errors.Join(err, os.Remove(dir))
		}
		m.Source = dir
		return func() error { return errors.Join(unix.Unmount(dir, unix.MNT_DETACH), os.Remove(dir)) }, nil
	}
	return func() error { return nil }, nil
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
