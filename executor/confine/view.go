package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/idrange"
)

// Where a confined program finds its own.
const (
	// Dir is the one directory that it may write to.
	Dir = "/tmp"
	// programDir has its binary.
	programDir = "/program"
)

// Bounds of the directory that it may write to.
const (
	dirBytes  = 16 << 20
	dirInodes = 1024
)

// stage is where the view is put together: a directory that each host has, and that is covered in the new namespace alone.
const stage = "/tmp"

const (
	plainMount = unix.MS_NOSUID | unix.MS_NODEV
	bindFlags  = unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY | unix.MS_NOSUID
)

// devices are those that a program may open.
func devices() []string { return []string{"null", "zero", "full", "random", "urandom"} }

// shown lists the directories and files of the host that a program sees, with programs and libraries of its distribution. Those
// that the host does not have are left out.
func shown() []string {
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", "/etc/alternatives"}
}

// openTree returns the file as a mount that is nowhere yet. It works in the namespace alone in which the file was opened.
func openTree(file *os.File) (int, error) {
	tree, err := unix.OpenTree(int(file.Fd()), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return 0, fmt.Errorf("opening the binary of a program as a mount: %w", err)
	}
	return tree, nil
}

// view is the file system that a program sees.
type view struct {
	binary int    // of openTree, which the program finds below programDir
	name   string // of the binary
	dir    int    // of openTree, the directory that the program may write to; -1 for one in memory
	id     uint32 // the user who owns that one
}

// enter gives the view to the calling thread, which has namespaces of its own, as its root.
func (v view) enter() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("parting the mounts of a program from the host's: %w", err)
	}
	if err := unix.Mount("view", stage, "tmpfs", plainMount, "mode=0755,size=64k,nr_inodes=64"); err != nil {
		return fmt.Errorf("mounting the root of a program: %w", err)
	}
	for _, path := range shown() {
		if err := show(path); err != nil {
			return fmt.Errorf("showing %s to a program: %w", path, err)
		}
	}
	for _, device := range devices() {
		if err := bindFile("/dev/"+device, stage+"/dev/"+device, bindFlags); err != nil {
			return fmt.Errorf("giving a program /dev/%s: %w", device, err)
		}
	}
	if err := v.showBinary(filepath.Join(stage, programDir, v.name)); err != nil {
		return fmt.Errorf("showing a program its binary: %w", err)
	}
	if err := v.mountDir(); err != nil {
		return err
	}
	// The names of these options are newer than the form of /proc that takes them for one mount alone: an older kernel refuses
	// them, and the program has no /proc then.
	err := mountNew("/proc", "proc", plainMount|unix.MS_NOEXEC|unix.MS_RDONLY, "hidepid=invisible,subset=pid")
	if err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return turnRoot()
}

// mountDir mounts the directory that the program may write to.
func (v view) mountDir() error {
	if v.dir < 0 {
		// Executors reach its sockets as the group of the directory, which files in it get.
		options := fmt.Sprintf("mode=2770,uid=%d,gid=%d,size=%d,nr_inodes=%d", v.id, idrange.Executor, dirBytes, dirInodes)
		return mountNew(Dir, "tmpfs", plainMount|unix.MS_NOEXEC, options)
	}
	at := stage + Dir
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	if err := unix.MoveMount(v.dir, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("showing a program its directory: %w", err)
	}
	if err := unix.Mount("", at, "", unix.MS_BIND|unix.MS_REMOUNT|plainMount|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("showing a program its directory: %w", err)
	}
	return nil
}

func mountNew(path, kind string, flags uintptr, options string) error {
	at := stage + path
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(kind, at, kind, flags, options); err != nil {
		return fmt.Errorf("mounting %s for a program: %w", path, err)
	}
	return nil
}

// show shows a path of the host, read-only, at the same place.
func show(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	at := stage + path
	switch {
	case info.Mode()&os.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		return errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.Symlink(target, at))
	case info.IsDir():
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		return bind(path, at, bindFlags|unix.MS_NODEV)
	default:
		return bindFile(path, at, bindFlags|unix.MS_NODEV)
	}
}

func (v view) showBinary(at string) error {
	if err := makeFile(at); err != nil {
		return err
	}
	if err := unix.MoveMount(v.binary, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return err
	}
	return unix.Mount("", at, "", bindFlags|unix.MS_NODEV, "")
}

func bindFile(from, at string, flags uintptr) error {
	if err := makeFile(at); err != nil {
		return err
	}
	return bind(from, at, flags)
}

// makeFile makes an empty file to mount another on.
func makeFile(at string) error {
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	return os.WriteFile(at, nil, 0o444)
}

// bind shows the one file system of a path, without those mounted below it: the kernel would leave them writable.
func bind(from, at string, flags uintptr) error {
	if err := unix.Mount(from, at, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return unix.Mount("", at, "", flags, "")
}

// turnRoot makes the stage the root, read-only, and leaves no way to the host's.
func turnRoot() error {
	if err := unix.Mount("", stage, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|plainMount, ""); err != nil {
		return fmt.Errorf("making the root of a program read-only: %w", err)
	}
	if err := unix.Chdir(stage); err != nil {
		return fmt.Errorf("entering the root of a program: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("turning to the root of a program: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leaving the host's root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return fmt.Errorf("entering the root of a program: %w", err)
	}
	return nil
}
