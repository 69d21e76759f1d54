package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
)

// batch is how many names of a directory are held at once: there may be as many as
// the workspace has inodes.
const batch = 256

// openDir opens the directory of that name in an open one. With one component, and no link followed, the name cannot lead out.
func openDir(in *os.File, name string) (*os.File, error) {
	fd, err := unix.Openat(int(in.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC|neverWaits, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// openTop opens the directory at name, which may lead through links that stay inside.
func (d *Dir) openTop(name string) (dir *os.File, err error) {
	err = d.as(func() error {
		dir, err = d.root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|neverWaits, 0)
		return err
	})
	return dir, err
}

// entry is one entry of a walk.
type entry struct {
	in   *os.File // the directory that it is in
	name string
	path string // relative to where the walk began
	info yurt.FileInfo
}

// statEntry describes the entry of that name in a directory.
func statEntry(in *os.File, name, pathname string) (entry, error) {
	e := entry{in: in, name: name, path: pathname}
	var stat unix.Stat_t
	if err := unix.Fstatat(int(in.Fd()), name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return e, &fs.PathError{Op: "stat", Path: pathname, Err: err}
	}
	e.info = yurt.FileInfo{
		Path: valid(pathname), Type: yurt.FileOther, Size: stat.Size, Mode: yurt.FileMode(stat.Mode & 0o777),
		ModTime: time.Unix(stat.Mtim.Unix()).UTC(),
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		e.info.Type = yurt.FileRegular
		e.info.ETag = etag(stat.Ino, stat.Size, stat.Mtim.Nano(), stat.Ctim.Nano())
	case unix.S_IFDIR:
		e.info.Type, e.info.IsDir = yurt.FileDirectory, true
	case unix.S_IFLNK:
		e.info.Type = yurt.FileLink
		target := make([]byte, yurt.MaxPathBytes)
		n, err := unix.Readlinkat(int(in.Fd()), name, target)
		if err != nil {
			return e, &fs.PathError{Op: "readlink", Path: pathname, Err: err}
		}
		e.info.Target = string(target[:n])
	}
	return e, nil
}

// walk calls visit with all entries below an open directory, each directory before its entries, in no other order. It passes
// over entries that vanish meanwhile.
func (d *Dir) walk(ctx context.Context, dir *os.File, below string, visit func(entry) error) error {
	if strings.Count(below, "/") >= yurt.MaxFileDepth {
		return yurt.FieldErrorf(yurt.CodeInvalidPath, "path", "%s is more than %d directories deep; that is too deep to be walked", valid(below), yurt.MaxFileDepth)
	}
	for {
		names, err := dir.Readdirnames(batch)
		for _, name := range names {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := d.walkEntry(ctx, dir, name, path.Join(below, name), visit); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return explain(valid(below), err)
		}
	}
}

func (d *Dir) walkEntry(ctx context.Context, in *os.File, name, pathname string, visit func(entry) error) error {
	var (
		e   entry
		sub *os.File
	)
	err := d.as(func() (err error) {
		if e, err = statEntry(in, name, pathname); err == nil && e.info.IsDir {
			sub, err = openDir(in, name)
		}
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EINVAL):
		return nil // the entry has changed or is gone
	case err != nil:
		return explain(valid(pathname), err)
	}
	if sub != nil {
		defer sub.Close()
	}
	if err := visit(e); err != nil || sub == nil {
		return err
	}
	return d.walk(ctx, sub, pathname, visit)
}

// Remove removes the entry at name. A directory must be empty unless all says that its content goes too.
func (d *Dir) Remove(ctx context.Context, name string, all bool) error {
	name, err := yurt.CleanWorkspacePath("path", name)
	if err != nil {
		return err
	}
	d.change.Lock()
	err = d.as(func() error { return d.root.Remove(name) })
	d.change.Unlock()
	if all && errors.Is(err, syscall.ENOTEMPTY) {
		err = d.removeTree(ctx, name)
	}
	return explainUnless(name, err)
}

// RemoveAll removes the entry at name with all below it, if it exists.
func (d *Dir) RemoveAll(name string) error {
	err := d.Remove(context.Background(), name, true)
	if yurt.CodeOf(err) == yurt.CodeFileNotFound {
		return nil
	}
	return err
}

// removePasses bounds how often a directory is gone over that others fill meanwhile.
const removePasses = 10_000

// removeTree empties the directory at name and removes it.
func (d *Dir) removeTree(ctx context.Context, name string) error {
	top, err := d.openTop(name)
	if err != nil {
		return err
	}
	defer top.Close()
	for range removePasses {
		if err := d.empty(ctx, top, top, 0); err != nil {
			return err
		}
		err = d.as(func() error { return d.root.Remove(name) })
		if !errors.Is(err, syscall.ENOTEMPTY) {
			break
		}
	}
	return err
}

// maxOpenDirs is how many directories a removal holds open. Deeper ones are first moved up: the sandbox chooses the depth, and
// must not use up this process's descriptors and stack.
const maxOpenDirs = 32

func (d *Dir) empty(ctx context.Context, top, dir *os.File, depth int) error {
	for {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		names, err := dir.Readdirnames(batch)
		for _, name := range names {
			if err := d.emptyEntry(ctx, top, dir, name, depth); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			_, err = dir.Seek(0, io.SeekStart)
			return err
		}
		if err != nil {
			return err
		}
	}
}

func (d *Dir) emptyEntry(ctx context.Context, top, dir *os.File, name string, depth int) error {
	var sub *os.File
	err := d.as(func() error {
		err := unix.Unlinkat(int(dir.Fd()), name, 0)
		if !errors.Is(err, syscall.EISDIR) {
			return err
		}
		if err = unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR); !errors.Is(err, syscall.ENOTEMPTY) {
			return err
		}
		if depth == maxOpenDirs {
			return unix.Renameat(int(dir.Fd()), name, int(top.Fd()), temporaryName())
		}
		sub, err = openDir(dir, name)
		return err
	})
	if err != nil || sub == nil {
		return err
	}
	defer sub.Close()
	if err := d.empty(ctx, top, sub, depth+1); err != nil {
		return err
	}
	err = d.as(func() error { return unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR) })
	if errors.Is(err, syscall.ENOTEMPTY) {
		return nil // a program filled it again: the next pass removes it
	}
	return err
}
