package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
)

// Dir is a directory inside a sandbox. Its methods may be called concurrently.
type Dir struct {
	root     *os.Root
	uid, gid int // host ids that operations run as
}

// Open opens the directory at name inside the sandbox of the given process. The
// name's own components must be beyond the sandbox's reach.
func Open(pid int, name string, uid, gid int) (*Dir, error) {
	root, err := os.OpenRoot(fmt.Sprintf("/proc/%d/root%s", pid, name))
	if err != nil {
		return nil, fmt.Errorf("opening %s of the sandbox: %w", name, err)
	}
	return &Dir{root: root, uid: uid, gid: gid}, nil
}

// Close lets go of the directory.
func (d *Dir) Close() error { return d.root.Close() }

// as runs do with the file system identity of the sandbox's user. do must not
// start goroutines, and must not wait for the sandbox.
func (d *Dir) as(do func() error) error {
	runtime.LockOSThread()
	defer func() {
		// A thread that is not its old self stays locked, and ends with its goroutine.
		if errors.Join(setFS("uid", unix.SetfsuidRetUid, 0), setFS("gid", unix.SetfsgidRetGid, 0)) == nil {
			runtime.UnlockOSThread()
		}
	}()
	// The group first: without root's identity it could not be changed.
	if err := errors.Join(setFS("gid", unix.SetfsgidRetGid, d.gid), setFS("uid", unix.SetfsuidRetUid, d.uid)); err != nil {
		return err
	}
	return do()
}

// setFS sets an identity and makes sure of it: the call itself reports no failure.
func setFS(what string, set func(int) (int, error), id int) error {
	if _, err := set(id); err != nil {
		return fmt.Errorf("taking on %s %d: %w", what, id, err)
	}
	if have, err := set(-1); err != nil || have != id {
		return fmt.Errorf("taking on %s %d: it is %d", what, id, have)
	}
	return nil
}

// Write replaces the file at name with the content, of at most limit bytes, making
// parent directories. Readers see the old file or the new one, whole.
func (d *Dir) Write(name string, content io.Reader, limit int64, mode fs.FileMode) (yurt.FileInfo, error) {
	name, err := yurt.CleanWorkspacePath("path", name)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	temp := path.Join(path.Dir(name), ".yurt-"+strings.ToLower(rand.Text()))
	file, err := d.create(name, temp, mode)
	if err != nil {
		return yurt.FileInfo{}, explain(name, err)
	}
	err = copyLimited(file, content, name, limit)
	err = errors.Join(err, file.Close())
	if err == nil {
		err = d.as(func() error { return d.root.Rename(temp, name) })
	}
	if err != nil {
		return yurt.FileInfo{}, explain(name, errors.Join(err, d.as(func() error { return d.root.Remove(temp) })))
	}
	return d.Stat(name)
}

func (d *Dir) create(name, temp string, mode fs.FileMode) (file *os.File, err error) {
	err = d.as(func() error {
		if info, err := d.root.Lstat(name); err == nil && info.IsDir() {
			return syscall.EISDIR
		}
		if err := d.root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		file, err = d.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		return err
	})
	return file, err
}

func copyLimited(to io.Writer, from io.Reader, name string, limit int64) error {
	n, err := io.Copy(to, io.LimitReader(from, limit))
	if err != nil || n < limit {
		return err
	}
	if extra, err := from.Read(make([]byte, 1)); extra == 0 && (err == nil || errors.Is(err, io.EOF)) {
		return nil
	}
	return yurt.FieldErrorf(yurt.CodeFileTooLarge, "path", "%s has more than %s; split it into smaller files", name, yurt.Size(limit))
}

// Read opens the regular file at name. The caller closes it.
func (d *Dir) Read(name string) (io.ReadCloser, yurt.FileInfo, error) {
	name, err := yurt.CleanWorkspacePath("path", name)
	if err != nil {
		return nil, yurt.FileInfo{}, err
	}
	var file *os.File
	err = d.as(func() error {
		// Nothing that is opened here may wait: a FIFO's other end is the sandbox's.
		file, err = d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
		return err
	})
	if err != nil {
		return nil, yurt.FileInfo{}, explain(name, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = yurt.FieldErrorf(yurt.CodeNotAFile, "path", "%s is not a regular file", name)
	}
	if err != nil {
		return nil, yurt.FileInfo{}, errors.Join(explain(name, err), file.Close())
	}
	return file, fileInfo(name, info), nil
}

// Stat describes what is at name, not following a link.
func (d *Dir) Stat(name string) (yurt.FileInfo, error) {
	name, err := yurt.CleanWorkspacePath("path", name)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	var info fs.FileInfo
	err = d.as(func() error {
		info, err = d.root.Lstat(name)
		return err
	})
	if err != nil {
		return yurt.FileInfo{}, explain(name, err)
	}
	return fileInfo(name, info), nil
}

// RemoveAll removes what is at name and everything below it.
func (d *Dir) RemoveAll(name string) error {
	return d.as(func() error { return d.root.RemoveAll(name) })
}

func fileInfo(name string, info fs.FileInfo) yurt.FileInfo {
	return yurt.FileInfo{Path: name, Size: info.Size(), Mode: info.Mode(), IsDir: info.IsDir(), ModTime: info.ModTime()}
}

// explain says what an error of the file system means to who gave the name.
func explain(name string, err error) error {
	var coded *yurt.Error
	switch {
	case errors.As(err, &coded):
		return coded
	case errors.Is(err, fs.ErrNotExist):
		return yurt.FieldErrorf(yurt.CodeFileNotFound, "path", "there is no file %s", name)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return yurt.FieldErrorf(yurt.CodeWorkspaceFull, "path", "no space is left in the workspace for %s; delete files, or ask for more resources.disk", name)
	case errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENXIO), errors.Is(err, fs.ErrExist):
		return yurt.FieldErrorf(yurt.CodeNotAFile, "path", "%s, or a directory it is in, is not what the path needs it to be: %w", name, err)
	case errors.Is(err, syscall.EAGAIN):
		return yurt.FieldErrorf(yurt.CodeNotAFile, "path", "a program in the sandbox holds a lease on %s; end it, or take another file", name)
	case errors.Is(err, fs.ErrPermission):
		return yurt.FieldErrorf(yurt.CodeInvalidPath, "path", "the sandbox's user may not use %s; change its mode", name)
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ELOOP):
		return yurt.FieldErrorf(yurt.CodeInvalidPath, "path", "%s cannot be resolved: %w", name, err)
	case strings.Contains(err.Error(), "path escapes from parent"): // the standard library has no name for it
		return yurt.FieldErrorf(yurt.CodePathOutsideWorkspace, "path", "%q leads out of %s; give a path inside it", name, yurt.WorkspaceDir)
	default:
		return fmt.Errorf("using %s: %w", name, err)
	}
}
