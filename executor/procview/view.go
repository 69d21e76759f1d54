package procview

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// View is the files in the place of those of the kernel, in the mount namespace of a sandbox.
type View struct {
	mu     sync.Mutex
	uptime *os.File
}

// MountShared mounts the files of [Shared], which are in the directory.
func MountShared(dir string) error {
	for _, path := range SharedPaths() {
		if err := unix.Mount(filepath.Join(dir, filepath.Base(path)), path, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting a sandbox's %s: %w", path, err)
		}
	}
	return nil
}

// Mount mounts the files of [Files] for a sandbox with so much memory. They are in a file system of their own, which was mounted at
// the directory for the moment: the kernel binds no file that has lost its name.
func Mount(dir string, memory int64) (_ *View, err error) {
	files, err := Files(memory)
	if err != nil {
		return nil, err
	}
	remove, err := MountStore(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	v := &View{}
	for _, f := range files {
		file, err := f.Make(dir)
		if err == nil {
			err = unix.Mount(file.Name(), f.Path, "", unix.MS_BIND, "")
		}
		if err != nil {
			return nil, fmt.Errorf("mounting a sandbox's %s: %w", f.Path, err)
		}
		if f.Path == Uptime {
			v.uptime = file
		} else if err := file.Close(); err != nil {
			return nil, fmt.Errorf("mounting a sandbox's %s: %w", f.Path, err)
		}
	}
	return v, nil
}

// MountStore mounts a file system for the files of one sandbox at the directory. remove takes it away, but for the files that are
// mounted elsewhere.
func MountStore(dir string) (remove func() error, err error) {
	if err := unix.Mount("view", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=0755,size=1m,nr_inodes=64"); err != nil {
		return nil, fmt.Errorf("mounting a file system for a sandbox's /proc: %w", err)
	}
	return func() error { return unix.Unmount(dir, unix.MNT_DETACH) }, nil
}

// Make makes the file in the directory, and leaves it open to be written: it can be opened to be read alone.
func (f File) Make(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, filepath.Base(f.Path)), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return nil, err
	}
	if _, err = file.Write(f.Data); err == nil {
		err = file.Chmod(0o444) // in spite of the umask
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Refresh writes the uptime of now. Programs that a process starts later read an uptime that is older than they are, which they
// take for their own start.
func (v *View) Refresh() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if now, err := uptime(); err == nil {
		_, _ = v.uptime.WriteAt(now, 0) // it only grows, and so does its length; an older figure is no harm
	}
}

// Hide returns the entries of /proc that are to be masked: all but processes, and those that are known to show the sandbox's own.
// entries are the names in the directory.
func Hide(entries []string) (paths []string) {
	own := map[string]bool{
		"filesystems": true, // which the kernel has, the same for years
		"mounts":      true, // a link to the process's own
		"net":         true, // likewise; see executor/libcontainer for the files that are the host's
		"self":        true,
		"sys":         true, // its files are named one by one, see executor/oci
		"sysvipc":     true, // of the sandbox's namespace
		"thread-self": true,
		"version":     true, // as uname(2) tells it
	}
	for _, path := range append(SharedPaths(), Meminfo, "/proc/stat", Uptime) {
		own[strings.TrimPrefix(path, "/proc/")] = true // which are replaced
	}
	for _, name := range entries {
		if !own[name] && strings.Trim(name, "0123456789") != "" {
			paths = append(paths, "/proc/"+name)
		}
	}
	return paths
}
