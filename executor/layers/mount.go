package layers

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/internal/linux/lockedthread"
)

// Mount makes the tree of a layer, and no more than that, visible at a directory in the mount namespace of the file, one of
// /proc/PID/ns/mnt. It is read-only there, also for root. target is a path in that namespace beyond the reach of the sandbox's
// processes.
func Mount(tree string, namespace *os.File, target string) error {
	fd, err := unix.OpenTree(unix.AT_FDCWD, tree, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return fmt.Errorf("opening a layer: %w", err)
	}
	defer unix.Close(fd)
	attributes := unix.MountAttr{
		Attr_set:    unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOATIME,
		Attr_clr:    unix.MOUNT_ATTR__ATIME,
		Propagation: unix.MS_PRIVATE,
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attributes); err != nil {
		return fmt.Errorf("making a layer read-only: %w", err)
	}
	lockedthread.Run(func() { err = moveInto(fd, namespace, target) })
	return err
}

// moveInto attaches the mount in the namespace, which it enters.
func moveInto(mount int, namespace *os.File, target string) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("entering the mounts of a sandbox: %w", err)
	}
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("entering the mounts of a sandbox: %w", err)
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	at, err := unix.Openat2(unix.AT_FDCWD, target, &how)
	if err != nil {
		return fmt.Errorf("finding the place of a layer: %w", err)
	}
	defer unix.Close(at)
	if err := unix.MoveMount(mount, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("mounting a layer: %w", err)
	}
	return nil
}
