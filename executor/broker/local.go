package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/imagefiles"
	"github.com/yurtrun/yurt/executor/launch"
	"github.com/yurtrun/yurt/executor/lsm"
	"github.com/yurtrun/yurt/executor/programs"
	"github.com/yurtrun/yurt/executor/trees"
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
	ImageFiles      imagefiles.Files
	HostPaths       []string // of the host that it offers to sandboxes, with all below them
	Tasks           bool     // sandboxes may be tasks of Nomad, with files, devices and networks of the host
	Dirs            Dirs
	AppArmorProfile string
	SELinux         lsm.Labels
	User            int // of the executor, and its group
	Logger          *slog.Logger
}

// Local carries the requests out in this process, which must be root.
type Local struct {
	Config
	*programs.Local
	imagefiles.Files

	filters *launch.Filters
	list    list
	ranges  ranges
}

// NewLocal returns a broker. Prepare comes next. Close closes the launcher too.
func NewLocal(config Config) *Local {
	return &Local{Config: config, Local: programs.New(config.Programs), Files: config.ImageFiles, filters: launch.NewFilters(config.Launcher)}
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
	return errors.Join(removeFrom(l.Dirs.OpenDisks, sandboxID), removeFrom(l.Dirs.OpenStores, sandboxID))
}

// removeFrom removes the directory of a sandbox from that of all of them.
func removeFrom(open func() (*os.File, error), sandboxID string) error {
	stores, err := open()
	if err != nil {
		return err
	}
	defer stores.Close()
	return RemoveStore(stores, sandboxID)
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
		return trees.Mount(l.LayersDir, tree.Layer, namespace, tree.target())
	}
	view, err := l.openRecord(sandboxID, ViewsDir, tree.View)
	if err != nil {
		return err
	}
	defer view.Close()
	return trees.MountView(view, namespace, tree.target())
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
	view, err := l.openRecord(sandboxID, ViewsDir, tree.View)
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
