package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/yurtrun/yurt"
)

// The modes of new files and directories without a mode in the request.
const (
	defaultFileMode fs.FileMode = 0o644
	defaultDirMode  fs.FileMode = 0o755
)

// tempPrefix begins the names of files that are not whole yet.
const tempPrefix = ".yurt-"

// temporaryName returns a name that no file has.
func temporaryName() string { return tempPrefix + strings.ToLower(rand.Text()) }

// isTemporary reports whether the path, or a directory above it, has a name of [temporaryName]. A user's name that begins
// likewise does not count.
func isTemporary(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz234567" // of rand.Text
	for part := range strings.SplitSeq(name, "/") {
		random, ok := strings.CutPrefix(part, tempPrefix)
		if ok && len(random) == len(rand.Text()) && strings.Trim(random, letters) == "" {
			return true
		}
	}
	return false
}

// Write replaces the file at name with the content, of at most limit bytes, making
// parent directories. Readers see the old file or the new one, whole. Mode 0 is that
// of the file that is there, or 0644.
func (d *Dir) Write(name string, content io.Reader, limit int64, mode fs.FileMode) (yurt.FileInfo, error) {
	return d.WriteIf(name, content, limit, mode, yurt.Condition{})
}

// WriteIf is [Dir.Write] under a condition, which holds when the content is there, whatever other methods of the directory do meanwhile.
func (d *Dir) WriteIf(name string, content io.Reader, limit int64, mode fs.FileMode, condition yurt.Condition) (yurt.FileInfo, error) {
	name, err := yurt.CleanWorkspacePath("path", name)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	temp := path.Join(path.Dir(name), temporaryName())
	file, err := d.create(name, temp, mode, condition)
	if err != nil {
		return yurt.FileInfo{}, explain(name, err)
	}
	err = copyLimited(file, content, name, limit)
	err = errors.Join(err, file.Close())
	var info yurt.FileInfo
	if err == nil {
		info, err = d.put(temp, name, condition)
	}
	if err != nil {
		return yurt.FileInfo{}, explain(name, errors.Join(err, d.as(func() error { return d.root.Remove(temp) })))
	}
	return info, nil
}

// put gives a whole file its name.
func (d *Dir) put(temp, name string, condition yurt.Condition) (info yurt.FileInfo, err error) {
	d.change.Lock()
	defer d.change.Unlock()
	err = d.as(func() error {
		if err := d.check(name, condition); err != nil {
			return err
		}
		// The kernel's own time is the same for milliseconds, and so would be the ETags of two versions.
		now := time.Now()
		if err := d.root.Chtimes(temp, now, now); err != nil {
			return err
		}
		if err := d.root.Rename(temp, name); err != nil {
			return err
		}
		stat, err := d.root.Lstat(name)
		if err == nil {
			info = fileInfo(name, stat)
		}
		return err
	})
	return info, err
}

// check holds the file that is there to a condition.
func (d *Dir) check(name string, condition yurt.Condition) error {
	if condition.IsZero() {
		return nil
	}
	info, err := d.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return condition.Check("file "+valid(name), "")
	}
	if err != nil {
		return err
	}
	return condition.Check("file "+valid(name), fileInfo(name, info).ETag)
}

func (d *Dir) create(name, temp string, mode fs.FileMode, condition yurt.Condition) (file *os.File, err error) {
	err = d.as(func() error {
		if err := d.check(name, condition); err != nil {
			return err
		}
		info, err := d.root.Lstat(name)
		switch {
		case err == nil && info.IsDir():
			return syscall.EISDIR
		case mode != 0:
		case err == nil && info.Mode().IsRegular():
			mode = info.Mode().Perm()
		default:
			mode = defaultFileMode
		}
		if err := d.root.MkdirAll(path.Dir(name), defaultDirMode); err != nil {
			return err
		}
		if file, err = d.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return err
		}
		// With any mask of this process.
		if err := file.Chmod(mode); err != nil {
			return errors.Join(err, file.Close(), d.root.Remove(temp))
		}
		return nil
	})
	return file, err
}

// Append adds the content to the file at name, and makes the file if need be. Content from before an error stays. With it the file
// may have limit bytes.
func (d *Dir) Append(name string, content io.Reader, limit int64, mode fs.FileMode) (yurt.FileInfo, error) {
	name, err := yurt.CleanWorkspacePath("path", name)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	if mode == 0 {
		mode = defaultFileMode
	}
	var file *os.File
	err = d.as(func() error {
		if err := d.root.MkdirAll(path.Dir(name), defaultDirMode); err != nil {
			return err
		}
		file, err = d.root.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|neverWaits, mode)
		return err
	})
	if err != nil {
		return yurt.FileInfo{}, explain(name, err)
	}
	info, err := regular(file, name)
	if err == nil {
		err = copyLimited(sharedFile{file, &d.change}, content, name, max(0, limit-info.Size()))
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return yurt.FileInfo{}, explain(name, err)
	}
	return d.Stat(name)
}

// sharedFile is a file that others know while it is written to.
type sharedFile struct {
	file   *os.File
	change *sync.Mutex
}

// Write implements [io.Writer].
func (f sharedFile) Write(data []byte) (int, error) {
	f.change.Lock()
	defer f.change.Unlock()
	return f.file.Write(data)
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

// neverWaits are flags of every open: a FIFO's other end is the sandbox's, and so is a lease on a file.
const neverWaits = syscall.O_NONBLOCK | syscall.O_NOCTTY

// regular returns the open file if it is a regular one.
func regular(file *os.File, name string) (fs.FileInfo, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, yurt.FieldErrorf(yurt.CodeNotAFile, "path", "%s is not a regular file", name)
	}
	return info, nil
}

// Read opens a span of the regular file at name. The caller closes it. It reads span.In(info.Size), or less if the file shrinks
// meanwhile.
func (d *Dir) Read(name string, span yurt.Span) (io.ReadCloser, yurt.FileInfo, error) {
	file, info, start, length, err := d.OpenSpan(name, span)
	if err != nil {
		return nil, yurt.FileInfo{}, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(file, start, length), file}, info, nil
}

// OpenSpan opens the regular file at name, and says where the span begins in it and how long that is. The caller closes it.
func (d *Dir) OpenSpan(name string, span yurt.Span) (file *os.File, is yurt.FileInfo, start, length int64, err error) {
	if name, err = yurt.CleanWorkspacePath("path", name); err != nil {
		return nil, is, 0, 0, err
	}
	err = d.as(func() error {
		file, err = d.root.OpenFile(name, os.O_RDONLY|neverWaits, 0)
		return err
	})
	if err != nil {
		return nil, is, 0, 0, explain(name, err)
	}
	info, err := regular(file, name)
	if err != nil {
		return nil, is, 0, 0, errors.Join(explain(name, err), file.Close())
	}
	start, length, ok := span.In(info.Size())
	if !ok {
		err = yurt.FieldErrorf(yurt.CodeRangeNotSatisfiable, "range", "%s has %d bytes, and nothing of the range that was asked for", name, info.Size())
		return nil, is, 0, 0, errors.Join(err, file.Close())
	}
	return file, fileInfo(name, info), start, length, nil
}

// Stat describes the entry at name, the directory itself included, and follows no link.
func (d *Dir) Stat(name string) (yurt.FileInfo, error) {
	name, err := yurt.CleanWorkspaceDir("path", name)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	var info yurt.FileInfo
	err = d.as(func() error {
		stat, err := d.root.Lstat(name)
		if err != nil {
			return err
		}
		if info = fileInfo(name, stat); info.Type == yurt.FileLink {
			info.Target, err = d.root.Readlink(name)
			info.Target = valid(info.Target)
		}
		return err
	})
	if err != nil {
		return yurt.FileInfo{}, explain(name, err)
	}
	return info, nil
}

func fileInfo(name string, info fs.FileInfo) yurt.FileInfo {
	is := yurt.FileInfo{
		Path: valid(name), Type: fileType(info.Mode()), Size: info.Size(), Mode: yurt.FileMode(info.Mode().Perm()),
		IsDir: info.IsDir(), ModTime: info.ModTime().UTC(),
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && is.Type == yurt.FileRegular {
		is.ETag = etag(stat.Ino, stat.Size, stat.Mtim.Nano(), stat.Ctim.Nano())
	}
	return is
}

// etag names the content of a file. Programs can set its time of change, and not the time at which they did so.
func etag(inode uint64, size, changed, set int64) string {
	return fmt.Sprintf(`"%x-%x-%x-%x"`, inode, size, changed, set)
}

func fileType(mode fs.FileMode) yurt.FileType {
	switch mode.Type() {
	case 0:
		return yurt.FileRegular
	case fs.ModeDir:
		return yurt.FileDirectory
	case fs.ModeSymlink:
		return yurt.FileLink
	default:
		return yurt.FileOther
	}
}

// valid returns a name of the sandbox's as text.
func valid(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }

// MakeDir makes the directory at name and those above it. One that is there is no
// error; made reports whether it was not.
func (d *Dir) MakeDir(name string, mode fs.FileMode) (info yurt.FileInfo, made bool, err error) {
	if name, err = yurt.CleanWorkspacePath("path", name); err != nil {
		return yurt.FileInfo{}, false, err
	}
	err = d.as(func() error {
		if err := d.root.MkdirAll(path.Dir(name), defaultDirMode); err != nil {
			return err
		}
		err := d.root.Mkdir(name, defaultDirMode)
		if made = err == nil; made && mode != 0 {
			return d.root.Chmod(name, mode)
		}
		if stat, statErr := d.root.Stat(name); errors.Is(err, fs.ErrExist) && statErr == nil && stat.IsDir() {
			return nil
		}
		return err
	})
	if err != nil {
		return yurt.FileInfo{}, false, explain(name, err)
	}
	info, err = d.Stat(name)
	return info, made, err
}

// Move moves an entry to another name, and makes parent directories. It replaces a file only where replace says so, and a directory
// never.
func (d *Dir) Move(from, to string, replace bool) (yurt.FileInfo, error) {
	from, err := yurt.CleanWorkspacePath("path", from)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	if to, err = yurt.CleanWorkspacePath("to", to); err != nil {
		return yurt.FileInfo{}, err
	}
	d.change.Lock()
	err = d.as(func() error {
		if _, err := d.root.Lstat(from); err != nil {
			return err
		}
		if _, err := d.root.Lstat(to); err == nil && !replace {
			return yurt.FieldErrorf(yurt.CodeFileExists, "to", "there is something at %s; remove it, or ask for it to be replaced", to)
		}
		if err := d.root.MkdirAll(path.Dir(to), defaultDirMode); err != nil {
			return err
		}
		return d.root.Rename(from, to)
	})
	d.change.Unlock()
	if errors.Is(err, fs.ErrExist) {
		err = yurt.FieldErrorf(yurt.CodeFileExists, "to", "there is a directory at %s, or a file where a directory is to go; remove it, or take another name", to)
	}
	if err != nil {
		return yurt.FileInfo{}, explain(fmt.Sprintf("%s (to %s)", from, to), err)
	}
	return d.Stat(to)
}

// Chmod sets the permission bits of the entry at name.
func (d *Dir) Chmod(name string, mode fs.FileMode) (yurt.FileInfo, error) {
	name, err := yurt.CleanWorkspacePath("path", name)
	if err != nil {
		return yurt.FileInfo{}, err
	}
	if err := d.as(func() error { return d.root.Chmod(name, mode.Perm()) }); err != nil {
		return yurt.FileInfo{}, explain(name, err)
	}
	return d.Stat(name)
}
