package statedir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/rundir"
)

// database begins the names of the database of a server, and of the files beside it.
const database = "yurt.db"

// given are the entries of a state directory that an executor has for itself, without its stores.
func given() []string {
	return []string{rundir.Sandboxes, Slots, reserveFile, records.FormatFile, Draining}
}

// roots are the entries that stay with root.
func roots() []string { return []string{Lock, LauncherLock, Disks, rundir.Link, TestedRuntime} }

// stores are the entries that have stores, where no other place is set for these.
func stores() []string { return []string{Layers, Images} }

// give gives the state directory and the entries of an executor in it to the user, as far as they are root's: the executor of an older
// version was root. It refuses a directory that has others' directories and was no state directory before.
func give(stateDir string, user int) error {
	dir, err := os.Open(stateDir)
	if err != nil {
		return fmt.Errorf("giving the executor its state directory: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("giving the executor its state directory: %w", err)
	}
	if err := checkStateDir(stateDir, names, user); err != nil {
		return err
	}
	g := giving{user: user, keeps: isDisk}
	for _, name := range names {
		if slices.Contains(given(), name) || strings.HasPrefix(name, database) {
			err = errors.Join(err, g.entry(dir, name, name))
		}
	}
	if err := errors.Join(err, g.directory(dir)); err != nil {
		return fmt.Errorf("giving the executor its state directory: %w", err)
	}
	return nil
}

// checkStateDir refuses to give away a directory that has other uses.
func checkStateDir(stateDir string, names []string, user int) error {
	info, err := os.Stat(stateDir)
	if err != nil {
		return fmt.Errorf("looking at the state directory: %w", err)
	}
	if rundir.OwnerOf(info) == user || slices.Contains(names, LauncherLock) || slices.Contains(names, records.FormatFile) {
		return nil
	}
	for _, name := range names {
		if slices.Contains(given(), name) || slices.Contains(roots(), name) {
			continue
		}
		if entry, err := os.Lstat(filepath.Join(stateDir, name)); err == nil && entry.IsDir() && !slices.Contains(stores(), name) {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "state-dir", "%s has the directory %q, which is not Yurt's, and a state directory becomes the executor's own; give an empty one", stateDir, name)
		}
	}
	return nil
}

// isDisk reports whether an entry of a state directory is the disk image of a sandbox, where older versions had it.
func isDisk(path string) bool {
	parts := strings.Split(path, "/")
	return len(parts) == 3 && parts[0] == rundir.Sandboxes && parts[2] == WorkspaceImage
}

// GiveStore makes a store of layers, and gives it to the user, without the trees of the layers: an executor reads them by
// the rights of all users.
func GiveStore(dir string, user int) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("making a store: %w", err)
	}
	if err := os.Mkdir(dir, 0o711); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("making a store: %w", err)
	}
	store, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("giving the executor a store: %w", err)
	}
	defer store.Close()
	g := giving{user: user, keeps: func(path string) bool {
		parts := strings.Split(path, "/")
		return len(parts) == 2 && parts[1] == "tree"
	}}
	if err := errors.Join(g.entries(store, ""), g.directory(store)); err != nil {
		return fmt.Errorf("giving the executor the store %s: %w", dir, err)
	}
	return nil
}

// giveRunDir gives the contents of a runtime directory, which stays root's, to the user.
func giveRunDir(runDir string, user int) error {
	dir, err := os.Open(runDir)
	if err != nil {
		return fmt.Errorf("giving the executor its runtime directory: %w", err)
	}
	defer dir.Close()
	g := giving{user: user, keeps: func(string) bool { return false }}
	if err := errors.Join(g.entry(dir, rundir.Sandboxes, rundir.Sandboxes), g.entry(dir, rundir.Plugins, rundir.Plugins)); err != nil {
		return fmt.Errorf("giving the executor its runtime directory: %w", err)
	}
	return nil
}

// maxDepth bounds how deep the directories of an executor are.
const maxDepth = 32

// giving is a walk that gives entries of root's to a user. The user had the directories before, so it follows no link, and leaves files with
// other names elsewhere and other users' entries alone.
type giving struct {
	user  int
	keeps func(path string) bool // whether an entry stays as it is, with all below it
}

// entries gives all entries of a directory, whose path in the walk is within.
func (g giving) entries(dir *os.File, within string) error {
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := g.entry(dir, name, filepath.Join(within, name)); err != nil {
			return err
		}
	}
	return nil
}

// entry gives one entry. One that has gone meanwhile is no error: stores are shared.
func (g giving) entry(dir *os.File, name, path string) error {
	if g.keeps(path) {
		return nil
	}
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	var stat, parent unix.Stat_t
	if err := errors.Join(unix.Fstat(fd, &stat), unix.Fstat(int(dir.Fd()), &parent)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if stat.Dev != parent.Dev || stat.Uid != 0 && int(stat.Uid) != g.user {
		return nil
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		if err := g.inside(file, path); err != nil {
			return err
		}
	case unix.S_IFBLK, unix.S_IFCHR:
		return nil
	default:
		if stat.Nlink > 1 {
			return nil
		}
	}
	return g.own(fd, &stat, path)
}

// own makes the user the owner of an open entry.
func (g giving) own(fd int, stat *unix.Stat_t, path string) error {
	if int(stat.Uid) == g.user && int(stat.Gid) == g.user {
		return nil
	}
	if err := unix.Fchownat(fd, "", g.user, g.user, unix.AT_EMPTY_PATH); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// inside gives the entries of a directory that is open as a place alone.
func (g giving) inside(place *os.File, path string) error {
	if strings.Count(path, "/") >= maxDepth {
		return fmt.Errorf("%.200s is more than %d directories deep", path, maxDepth)
	}
	fd, err := unix.Openat(int(place.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	dir := os.NewFile(uintptr(fd), path)
	defer dir.Close()
	return g.entries(dir, path)
}

// directory gives the directory that a walk began with.
func (g giving) directory(dir *os.File) error {
	info, err := dir.Stat()
	if err != nil || rundir.OwnerOf(info) == g.user {
		return err
	}
	return dir.Chown(g.user, g.user)
}
