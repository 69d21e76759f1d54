package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/disk"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/launch"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/executor/statedir"
	"github.com/yurtrun/yurt/internal/linux/openat"
)

// Dirs finds the directories of a sandbox.
type Dirs interface {
	RecordDir(sandboxID string) string // of its record, its logs and its views
	StoreDir(sandboxID string) string  // of the executor's files on disk
	// OpenDisks opens the broker's own directory, which has one for each sandbox with a workspace on disk, and OpenStores the one that the stores are in.
	// They follow no link in the state directory. The caller closes the files.
	OpenDisks() (*os.File, error)
	OpenStores() (*os.File, error)
}

// Files of a sandbox's init, in the directory of the sandbox's record.
const (
	InitSocket = "init.sock" // at which it listens
	InitLog    = "init.log"  // its standard error
)

// ViewsDir is the directory, in that of a sandbox's record, of the views of its installed packages, one for each runtime.
const ViewsDir = "packages"

// openRecord opens a directory below that of a sandbox's record. The record and its parent are the executor's, so no link is followed there.
func (l *Local) openRecord(sandboxID string, below ...string) (*os.File, error) {
	record := l.Dirs.RecordDir(sandboxID)
	records, err := unix.Open(filepath.Dir(record), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the records of sandboxes: %w", err)
	}
	defer unix.Close(records)
	path := filepath.Join(append([]string{filepath.Base(record)}, below...)...)
	dir, err := openat.At(records, path, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	})
	if err != nil {
		return nil, fmt.Errorf("opening %s of the records of sandboxes: %w", path, err)
	}
	return os.NewFile(uintptr(dir), path), nil
}

// initFiles makes the listening socket of a sandbox's init, and the file for its standard error, both for the user of the executor. The caller
// closes both.
func (l *Local) initFiles(sandboxID string) (listener, words *os.File, err error) {
	dir, err := l.openRecord(sandboxID)
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	if listener, err = initd.Listen(fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), InitSocket)); err != nil {
		return nil, nil, err
	}
	at := int(dir.Fd())
	fd, err := unix.Openat(at, InitLog, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_APPEND|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("making init's log: %w", err), listener.Close())
	}
	words = os.NewFile(uintptr(fd), InitLog)
	if err := errors.Join(unix.Fchownat(at, InitSocket, l.User, l.User, unix.AT_SYMLINK_NOFOLLOW), words.Chown(l.User, l.User)); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("giving the executor init's files: %w", err), listener.Close(), words.Close())
	}
	return listener, words, nil
}

// makeDisk makes the disk image or the bounded directory of a workspace, in a directory of root's; nil for a workspace in memory. By the time at which
// the launcher mounts it, its path may lead elsewhere, so the launcher gets its identity too.
func (l *Local) makeDisk(ctx context.Context, r StartRequest) (*launch.Workspace, error) {
	if !r.Limits.OnDisk() {
		return nil, nil //nolint:nilnil // as documented
	}
	disks, err := l.Dirs.OpenDisks()
	if err != nil {
		return nil, err
	}
	defer disks.Close()
	dir, err := makeDiskDir(disks, r.ID)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	name, err := makeWorkspace(ctx, dir, r)
	if err != nil {
		return nil, err
	}
	var stat unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, fmt.Errorf("looking at the disk of sandbox %s: %w", r.ID, err)
	}
	return &launch.Workspace{Path: filepath.Join(dir.Name(), name), Device: stat.Dev, Inode: stat.Ino}, nil
}

// makeDiskDir makes the directory of a sandbox among those of disks, and opens it.
func makeDiskDir(disks *os.File, id string) (*os.File, error) {
	if err := unix.Mkdirat(int(disks.Fd()), id, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, fmt.Errorf("making the disk of sandbox %s: %w", id, err)
	}
	fd, err := unix.Openat(int(disks.Fd()), id, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the disk of sandbox %s: %w", id, err)
	}
	return os.NewFile(uintptr(fd), filepath.Join(disks.Name(), id)), nil
}

// makeWorkspace makes the workspace in the directory of a sandbox on disk, and returns its name there.
func makeWorkspace(ctx context.Context, dir *os.File, r StartRequest) (name string, err error) {
	in := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), dir.Fd()) // mkfs has it too
	user, group := r.IDBase+rootfs.UserID, r.IDBase+rootfs.GroupID
	if r.Limits.DiskKind == yurt.DiskImage {
		return statedir.WorkspaceImage, disk.Make(ctx, filepath.Join(in, statedir.WorkspaceImage), r.Limits.Disk, user, group)
	}
	projects := disk.Projects{First: r.IDBase, Count: idrange.Size} // as unused as the sandbox's ids
	return statedir.WorkspaceDir, disk.MakeDir(filepath.Join(in, statedir.WorkspaceDir), r.Limits.Disk, projects, user, group)
}

// RemoveStore removes the directory of a sandbox from that of all of them, by the name of its entry. Its process, and even its executor, may be
// gone.
func RemoveStore(stores *os.File, name string) error {
	fd, err := unix.Openat(int(stores.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == nil {
		store := os.NewFile(uintptr(fd), name)
		defer store.Close()
		if err := disk.RemoveDir(fmt.Sprintf("/proc/self/fd/%d/%s", fd, statedir.WorkspaceDir)); err != nil {
			return err
		}
	} else if !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("opening the disk of sandbox %s: %w", name, err)
	}
	all, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", stores.Fd()))
	if err != nil {
		return fmt.Errorf("removing the disk of sandbox %s: %w", name, err)
	}
	defer all.Close()
	return all.RemoveAll(name)
}
