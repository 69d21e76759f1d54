package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/disk"
	"github.com/yurtrun/yurt/executor/launch"
	"github.com/yurtrun/yurt/executor/layers"
	"github.com/yurtrun/yurt/executor/lsm"
	"github.com/yurtrun/yurt/executor/programs"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
	"github.com/yurtrun/yurt/internal/linux/netns"
	"github.com/yurtrun/yurt/internal/linux/openat"
)

// Config is the settings of a [Local].
type Config struct {
	Launcher        *launch.Launcher
	Cgroups         *cgroup.Manager
	LayersDir       string // of dependency layers
	ImagesDir       string // of unpacked images
	Programs        programs.Config
	HostPaths       []string // of the host that it offers to sandboxes, with all below them
	Tasks           bool     // sandboxes may be tasks of Nomad, with files, devices and networks of the host
	Dirs            Dirs
	AppArmorProfile string
	SELinux         lsm.Labels
	Logger          *slog.Logger
}

// Dirs finds the directories of a sandbox.
type Dirs interface {
	RecordDir(sandboxID string) string // of its record, its logs and its views
	StoreDir(sandboxID string) string  // of its workspace, where that is on disk
}

// Local carries the requests out in this process, which must be root.
type Local struct {
	Config
	*programs.Local

	filters *launch.Filters
	list    list
	ranges  ranges
}

// NewLocal returns a broker. Prepare comes next. Close closes the launcher too.
func NewLocal(config Config) *Local {
	return &Local{Config: config, Local: programs.New(config.Programs), filters: launch.NewFilters(config.Launcher)}
}

// Prepare compiles the seccomp filter of most sandboxes, and that of programs.
func (l *Local) Prepare(ctx context.Context) error {
	if err := l.Local.Prepare(); err != nil {
		return err
	}
	if _, err := l.filters.Of(ctx, nil); err != nil {
		return yurt.Errorf(yurt.CodeSandboxFailed, "%w", err)
	}
	return nil
}

// Close ends the launcher and the programs, and removes the node's cgroup if it is empty. Sandboxes go on.
func (l *Local) Close() error {
	l.Local.Close()
	err := l.Launcher.Close()
	l.filters.Close()
	l.list.clear()
	l.Cgroups.RemoveParent()
	return err
}

// Forget drops all that this broker remembers of sandboxes. A new executor does not know the runs that its predecessor had begun, and
// takes sandboxes over as after the end of a broker: by their cgroups. Its programs end. No request may be under way.
func (l *Local) Forget() {
	l.EndAll()
	l.list.clear()
}

// The names, in a sandbox's directory on disk, of a workspace that is a disk image, or is bounded by quotas.
const (
	imageFile = "workspace.img"
	quotaDir  = "workspace"
)

// ViewsDir is the directory, in that of a sandbox's record, of the views of its installed packages, one for each runtime.
const ViewsDir = "packages"

// RemoveDisk implements [Broker]. The remains of other versions have other names than sandboxes.
func (l *Local) RemoveDisk(sandboxID string) error {
	if err := cgroup.CheckName(sandboxID); err != nil {
		return err
	}
	there, err := l.Cgroups.Has(sandboxID)
	if err != nil {
		return fmt.Errorf("looking for the cgroup of sandbox %s: %w", sandboxID, err)
	}
	if there {
		return yurt.Errorf(yurt.CodeSandboxFailed, "the disk of sandbox %s is kept, as the sandbox has a cgroup; end it first", sandboxID)
	}
	return RemoveStore(l.Dirs.StoreDir(sandboxID))
}

// RemoveStore removes the directory of a sandbox on disk. Its process, and even its executor, may be gone.
func RemoveStore(store string) error {
	if err := disk.RemoveDir(filepath.Join(store, quotaDir)); err != nil {
		return err
	}
	return os.RemoveAll(store)
}

// Open implements [Broker].
func (l *Local) Open(sandboxID string, at ...Place) (files []*os.File, err error) {
	if err := checkPlaces(at); err != nil {
		return nil, err
	}
	for _, place := range at {
		fd, err := l.open(sandboxID, string(place))
		if err != nil {
			descriptor.CloseAll(files)
			return nil, fmt.Errorf("opening %s of sandbox %s: %w", place, sandboxID, err)
		}
		files = append(files, os.NewFile(uintptr(fd), string(place)))
	}
	return files, nil
}

// open opens a directory in the root of a sandbox's init, and checks afterwards that it was still init.
func (l *Local) open(sandboxID, path string) (fd int, err error) {
	init, err := l.initOf(sandboxID)
	if err != nil {
		return -1, err
	}
	if path == string(Root) {
		fd, err = openat.Root(init.PID)
	} else {
		fd, err = openat.Inside(init.PID, path, unix.O_PATH|unix.O_DIRECTORY)
	}
	if err == nil && !init.Alive() {
		return -1, errors.Join(gone(sandboxID), unix.Close(fd))
	}
	return fd, err
}

func gone(sandboxID string) error {
	return yurt.Errorf(yurt.CodeSandboxFailed, "sandbox %s is gone", sandboxID)
}

// openView opens the directory of a view. Its parents and the record of the sandbox are the executor's, so no link is followed there.
func (l *Local) openView(sandboxID, view string) (*os.File, error) {
	record := l.Dirs.RecordDir(sandboxID)
	records, err := unix.Open(filepath.Dir(record), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the records of sandboxes: %w", err)
	}
	defer unix.Close(records)
	dir, err := openat.At(records, filepath.Join(filepath.Base(record), ViewsDir, view), &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the view %s of sandbox %s: %w", view, sandboxID, err)
	}
	return os.NewFile(uintptr(dir), view), nil
}

// Mount implements [Broker].
func (l *Local) Mount(sandboxID string, tree Tree) error {
	if err := tree.check(); err != nil {
		return err
	}
	namespace, err := l.namespace(sandboxID, "mnt")
	if err != nil {
		return err
	}
	defer namespace.Close()
	if tree.Layer != "" {
		return layers.Mount(l.LayersDir, tree.Layer, namespace, tree.target())
	}
	view, err := l.openView(sandboxID, tree.View)
	if err != nil {
		return err
	}
	defer view.Close()
	return layers.MountView(view, namespace, tree.target())
}

// Shows implements [Broker].
func (l *Local) Shows(sandboxID string, tree Tree) (bool, error) {
	if err := tree.check(); err != nil {
		return false, err
	}
	place, err := l.open(sandboxID, tree.target())
	if err != nil {
		return false, err
	}
	defer unix.Close(place)
	if tree.Layer != "" { // its place is in the sandbox's own file system in memory
		var fs unix.Statfs_t
		err := unix.Fstatfs(place, &fs)
		return err == nil && fs.Type == unix.OVERLAYFS_SUPER_MAGIC, err
	}
	view, err := l.openView(sandboxID, tree.View)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil // the view is not made yet
	}
	if err != nil {
		return false, err
	}
	defer view.Close()
	var inside, outside unix.Stat_t
	if err := errors.Join(unix.Fstat(place, &inside), unix.Fstat(int(view.Fd()), &outside)); err != nil {
		return false, err
	}
	return inside.Dev == outside.Dev && inside.Ino == outside.Ino, nil
}

// Listen implements [Broker].
func (l *Local) Listen(sandboxID string) (net.Listener, error) {
	namespace, err := l.namespace(sandboxID, "net")
	if err != nil {
		return nil, err
	}
	defer namespace.Close()
	return netns.Listen(namespace)
}

// namespace opens a namespace of a sandbox. The number of its init may be another process's once init has ended, so it is
// checked after the opening.
func (l *Local) namespace(sandboxID, kind string) (*os.File, error) {
	init, err := l.initOf(sandboxID)
	if err != nil {
		return nil, err
	}
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", init.PID, kind))
	if err != nil {
		return nil, fmt.Errorf("finding a namespace of a sandbox: %w", err)
	}
	if !init.Alive() {
		return nil, errors.Join(gone(sandboxID), namespace.Close())
	}
	return namespace, nil
}
