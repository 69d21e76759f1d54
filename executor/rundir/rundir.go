package rundir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/idrange"
	"github.com/yurtrun/yurt/executor/records"
)

// Default is the default place of executors' runtime directories.
const Default = "/run"

// The entries of a runtime directory.
const (
	Sandboxes = "sandboxes" // a directory for each
	Plugins   = "plugins"   // sockets of language runtimes
)

// Link is the name in the state directory that leads to the runtime directory.
const Link = "run"

// maxPluginSocket is the most that a runtime adds to the path of the directory in which
// its socket is, and maxSocketPath the most that Linux takes.
const (
	maxPluginSocket = len("/plugin-dir1234567890/plugin1234567890")
	maxSocketPath   = 107
)

// Path returns the runtime directory of the executor of the name, which is its own alone, below
// base, [Default] if that is "".
func Path(base, name string) (string, error) {
	base, err := filepath.Abs(cmp.Or(base, Default))
	if err != nil {
		return "", fmt.Errorf("finding the runtime directory: %w", err)
	}
	dir := filepath.Join(base, name)
	if room := maxSocketPath - maxPluginSocket - len(Plugins) - 1; len(dir) > room {
		return "", yurt.FieldErrorf(yurt.CodeInvalidArgument, "run-dir", "%q is %d bytes too long for the sockets below it; give a shorter path, as %s", base, len(dir)-room, Default)
	}
	return dir, nil
}

// Make makes the runtime directory of the executor that has the state directory, with
// a link to it there, and removes the sockets of one that was killed. It refuses one with a
// format that this version, the program, does not know. The directory is root's, and the user may enter it: the user cannot put
// others in the place of those in it.
func Make(dir, state, program string, user int) error {
	if err := leaveOther(dir, state, program); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("making the runtime directory: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making the runtime directory: %w", err)
	}
	// It may lie in a directory that all users write to, such as /dev/shm.
	if info, err := os.Lstat(dir); err != nil || !IsOurs(info) || !isClosed(info) {
		return errors.Join(yurt.Errorf(yurt.CodeUnavailable, "the runtime directory %s is not a directory that is this user's alone; remove it, or give another --run-dir", dir), err)
	}
	if err := records.CheckFormat(dir, program); err != nil {
		return err
	}
	if err := admit(dir, user); err != nil {
		return fmt.Errorf("making the runtime directory: %w", err)
	}
	plugins := filepath.Join(dir, Plugins)
	if err := errors.Join(os.RemoveAll(plugins), os.Mkdir(plugins, 0o700), os.MkdirAll(filepath.Join(dir, Sandboxes), 0o700)); err != nil {
		return fmt.Errorf("making the runtime directory: %w", err)
	}
	there := filepath.Join(state, Link)
	if err := errors.Join(ignoreAbsent(os.Remove(there)), os.Symlink(dir, there)); err != nil {
		return fmt.Errorf("linking to the runtime directory: %w", err)
	}
	return nil
}

// admit lets the user enter the directory. Another user than this process's gets in as the group of the directory.
func admit(dir string, user int) error {
	if user == os.Geteuid() {
		return nil
	}
	return errors.Join(os.Lchown(dir, os.Geteuid(), user), os.Chmod(dir, 0o710))
}

// isClosed reports whether no user may enter the directory beside its owner and executors.
func isClosed(info fs.FileInfo) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	open := info.Mode().Perm() & 0o077
	return ok && (open == 0 || open == 0o010 && owner.Gid == idrange.Executor)
}

// IsOurs reports whether it is a directory of the user's that this process runs as. Those of executors are root's too.
func IsOurs(info fs.FileInfo) bool {
	owner := OwnerOf(info)
	return info.IsDir() && (owner == os.Geteuid() || owner == idrange.Executor && os.Geteuid() == 0)
}

// OwnerOf returns the user id of a file's owner; -1 if it is not known.
func OwnerOf(info fs.FileInfo) int {
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(owner.Uid)
	}
	return -1
}

// Sweep removes the sockets of runtimes that an executor has left which was killed.
func Sweep(dir string) error {
	plugins := filepath.Join(dir, Plugins)
	entries, err := os.ReadDir(plugins)
	if err != nil {
		return fmt.Errorf("sweeping the runtime directory: %w", err)
	}
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(plugins, entry.Name())))
	}
	return err
}

// leaveOther refuses to begin where an earlier executor had another runtime directory and left sandboxes there: without their
// records, they would be removed.
func leaveOther(dir, state, program string) error {
	earlier, err := os.Readlink(filepath.Join(state, Link))
	if err != nil || earlier == dir {
		return ignoreAbsent(err)
	}
	left, err := os.ReadDir(filepath.Join(earlier, Sandboxes))
	if err != nil {
		return ignoreAbsent(err)
	}
	if len(left) > 0 {
		return yurt.FieldErrorf(yurt.CodeUnavailable, "run-dir", "the sandboxes of %s are in %s; give --run-dir %s, or end them first", state, earlier, filepath.Dir(earlier))
	}
	// The link is the executor's, and need not lead to a runtime directory.
	if info, err := os.Lstat(earlier); err != nil || filepath.Base(earlier) != filepath.Base(dir) || !IsOurs(info) {
		return ignoreAbsent(err)
	}
	return Remove(earlier, program)
}

// Remove removes the unused parts of a runtime directory: all of it, if there are no sandboxes. A directory of a format that this version, the
// program, does not know stays as it is.
func Remove(dir, program string) error {
	if records.CheckFormat(dir, program) != nil {
		return nil //nolint:nilerr // as documented
	}
	err := os.RemoveAll(filepath.Join(dir, Plugins))
	for _, name := range []string{Sandboxes, records.FormatFile, ""} {
		removal := os.Remove(filepath.Join(dir, name))
		if errors.Is(removal, unix.ENOTEMPTY) {
			break // of those the format goes on to speak
		}
		err = errors.Join(err, ignoreAbsent(removal))
	}
	return err
}

// RemoveAll removes the runtime directory of the name that the state directory leads to, with
// all that is in it.
func RemoveAll(state, name string) error {
	dir, err := os.Readlink(filepath.Join(state, Link))
	if err != nil || filepath.Base(dir) != name {
		return ignoreAbsent(err)
	}
	if info, err := os.Lstat(dir); err != nil || !IsOurs(info) {
		return ignoreAbsent(err)
	}
	return os.RemoveAll(dir)
}

// InMemory reports whether the directory is on a file system in memory.
func InMemory(dir string) bool {
	var info unix.Statfs_t
	if unix.Statfs(dir, &info) != nil {
		return false
	}
	return info.Type == unix.TMPFS_MAGIC || info.Type == unix.RAMFS_MAGIC
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
