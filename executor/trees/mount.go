package trees

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/internal/linux/lockedthread"
	"github.com/yurtrun/yurt/internal/linux/overlay"
)

// Mount makes a tree in the directory of a store, and no more than that, visible at a directory in the mount namespace of the file, one of
// /proc/PID/ns/mnt. It is read-only there, also for root, and its files have inodes of their own: locks and watches of files reach no
// other sandbox that has the tree. target is a path in that namespace beyond the reach of the sandbox's processes.
func Mount(dir, digest string, namespace *os.File, target string) (err error) {
	lockedthread.Run(func() { err = mountInto(dir, digest, namespace, target) })
	return err
}

// MountView makes a directory of one sandbox alone visible in the same way. The node may add entries to the directory later.
func MountView(dir *os.File, namespace *os.File, target string) error {
	fd, err := unix.OpenTree(int(dir.Fd()), "", unix.AT_EMPTY_PATH|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return fmt.Errorf("opening a view: %w", err)
	}
	defer unix.Close(fd)
	attributes := unix.MountAttr{Attr_set: attributes, Attr_clr: unix.MOUNT_ATTR__ATIME, Propagation: unix.MS_PRIVATE}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attributes); err != nil {
		return fmt.Errorf("making a view read-only: %w", err)
	}
	lockedthread.Run(func() {
		if err = unix.Unshare(unix.CLONE_FS); err == nil {
			err = moveInto(fd, namespace, target)
		}
	})
	return err
}

const attributes = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOATIME

// mountInto mounts the tree from a mount namespace that the calling thread makes for it: there an empty file system hides how full
// the disk with the trees is.
func mountInto(dir, digest string, namespace *os.File, target string) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil { // and CLONE_FS with it
		return fmt.Errorf("leaving the mounts of the host: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("leaving the mounts of the host: %w", err)
	}
	layer, err := openTree(dir, digest, unix.O_PATH) // before a directory is hidden
	if err != nil {
		return fmt.Errorf("opening a tree: %w", err)
	}
	defer unix.Close(layer)
	const bottom = "/mnt"
	if err := unix.Mount("empty", bottom, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "size=4k,nr_inodes=2"); err != nil {
		return fmt.Errorf("mounting an empty layer: %w", err)
	}
	mount, err := overlay.New(attributes, bottom, fmt.Sprintf("/proc/thread-self/fd/%d/.", layer))
	if err != nil {
		return err
	}
	defer mount.Close()
	return moveInto(int(mount.Fd()), namespace, target)
}

// moveInto attaches the mount in the namespace, which the calling thread enters.
func moveInto(mount int, namespace *os.File, target string) error {
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("entering the mounts of a sandbox: %w", err)
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	at, err := unix.Openat2(unix.AT_FDCWD, target, &how)
	if err != nil {
		return fmt.Errorf("finding the place of a tree: %w", err)
	}
	defer unix.Close(at)
	err = unix.MoveMount(mount, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	if err != nil {
		return fmt.Errorf("mounting a tree: %w", err)
	}
	return nil
}
