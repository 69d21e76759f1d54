package images

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/linux/openat"
)

// tree is the directory in which layers are put on top of each other. Names in it are relative and local; all links end below
// it, as if it were the root directory.
type tree struct{ root *os.File }

func openTree(dir string) (tree, error) {
	root, err := os.Open(dir)
	if err != nil {
		return tree{}, fmt.Errorf("opening the directory of an image: %w", err)
	}
	return tree{root}, nil
}

func (t tree) close() error { return t.root.Close() }

// open opens the entry at name, links followed within the tree.
func (t tree) open(name string, flags uint64) (*os.File, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV}
	fd, err := openat.At(int(t.root.Fd()), name, &how)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// place is where an entry is, or is going to be: a name in a directory that is open.
type place struct {
	dir  *os.File
	name string
}

// at returns the place of a name, whose directory must be there.
func (t tree) at(name string) (place, error) {
	dir, err := t.open(path.Dir(name), unix.O_PATH|unix.O_DIRECTORY)
	return place{dir, path.Base(name)}, err
}

// make returns the place of a name, and makes the directories on the way to it.
func (t tree) make(name string) (place, error) {
	p, err := t.at(name)
	if !errors.Is(err, fs.ErrNotExist) || path.Dir(name) == "." {
		return p, err
	}
	parent, err := t.make(path.Dir(name))
	if err != nil {
		return place{}, err
	}
	defer parent.close()
	if err := parent.mkdir(0o755); errors.Is(err, fs.ErrExist) {
		return place{}, yurt.Errorf(yurt.CodeArchiveInvalid, "%q is below a link that leads nowhere", name)
	} else if err != nil {
		return place{}, err
	}
	return t.at(name)
}

func (p place) close()  { p.dir.Close() }
func (p place) fd() int { return int(p.dir.Fd()) }

// path leads to the place from anywhere, past no link but the last.
func (p place) path() string { return fmt.Sprintf("/proc/self/fd/%d/%s", p.fd(), p.name) }

func (p place) stat() (unix.Stat_t, error) {
	var stat unix.Stat_t
	err := unix.Fstatat(p.fd(), p.name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	return stat, err
}

func (p place) mkdir(mode uint32) error {
	if err := unix.Mkdirat(p.fd(), p.name, mode); err != nil {
		return &fs.PathError{Op: "mkdir", Path: p.name, Err: err}
	}
	return os.Chmod(p.path(), fs.FileMode(mode)) // in spite of the umask; it was made just now
}

// remove removes an entry with all below it.
func (p place) remove() error {
	if err := unix.Unlinkat(p.fd(), p.name, 0); err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	return os.RemoveAll(p.path())
}

// inodes are those that the layer at hand has put into the tree.
type inodes map[uint64]struct{}

func (i inodes) note(p place) error {
	stat, err := p.stat()
	if err != nil {
		return &fs.PathError{Op: "stat", Path: p.name, Err: err}
	}
	i[stat.Ino] = struct{}{}
	return nil
}

// hide removes the entry at the place, but keeps files of the present layer, which may come earlier in the archive. itself says
// whether a directory goes when it is empty.
func (p place) hide(kept inodes, itself bool) error {
	stat, err := p.stat()
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return &fs.PathError{Op: "stat", Path: p.name, Err: err}
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		if _, ours := kept[stat.Ino]; ours || !itself {
			return nil
		}
		return p.remove()
	}
	top := p.path()
	dirs := []string{}
	err = filepath.WalkDir(top, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var stat unix.Stat_t
		if err := unix.Lstat(name, &stat); err != nil {
			return &fs.PathError{Op: "stat", Path: entry.Name(), Err: err}
		}
		_, ours := kept[stat.Ino]
		switch {
		case ours || name == top && !itself:
			return nil
		case entry.IsDir():
			dirs = append(dirs, name)
			return nil
		}
		return os.Remove(name) //nolint:gosec // no other process changes the tree
	})
	for i := len(dirs) - 1; i >= 0 && err == nil; i-- {
		if err = unix.Rmdir(dirs[i]); errors.Is(err, unix.ENOTEMPTY) {
			err = nil
		}
	}
	return err
}
