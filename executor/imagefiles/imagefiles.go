package imagefiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/linux/openat"
)

// Requests is the requests for files that images come from. The caller closes the files.
type Requests interface {
	// FindLayout returns the directory of a layout, links followed. It fails with [yurt.CodeForbidden] if the operator does not allow it, before
	// any look at it.
	FindLayout(dir string) (string, error)
	// OpenLayout opens the index of a layout, or the blob whose SHA-256, in hexadecimal, is given.
	OpenLayout(dir, blob string) (*os.File, error)
	// OpenCredentials opens the credentials for registries.
	OpenCredentials() (*os.File, error)
}

// Files opens the files in this process. The zero value opens no file.
type Files struct {
	Layouts     []string // directories with layouts, at any depth
	Credentials string   // the file of the credentials for registries; "" for no file
}

var _ Requests = Files{}

// FindLayout implements [Requests].
func (f Files) FindLayout(dir string) (string, error) {
	if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir {
		return "", yurt.Errorf(yurt.CodeInvalidArgument, "%.200q is no directory of a layout; give an absolute and clean path", dir)
	}
	if !f.allow(dir) { // before any look at it, which would tell whether it exists
		return "", f.refuse(dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", yurt.Errorf(yurt.CodeInvalidArgument, "the layout %s is not on this node: %w", dir, err)
	}
	if !f.allow(real) {
		return "", f.refuse(dir)
	}
	return real, nil
}

// allow reports whether the path is one of the operator's directories, or below one.
func (f Files) allow(path string) bool {
	return slices.ContainsFunc(f.Layouts, func(root string) bool {
		return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/")
	})
}

func (f Files) refuse(dir string) error {
	from := ""
	if len(f.Layouts) > 0 {
		from = ", but from " + strings.Join(f.Layouts, ", ")
	}
	return yurt.Errorf(yurt.CodeForbidden, "this node takes no images from the directory %s%s; its operator can allow that by image-layouts", dir, from)
}

// OpenLayout implements [Requests].
func (f Files) OpenLayout(dir, blob string) (*os.File, error) {
	name := "index.json"
	if blob != "" {
		odd := func(r rune) bool { return (r < 'a' || r > 'f') && (r < '0' || r > '9') }
		if len(blob) != 64 || strings.ContainsFunc(blob, odd) {
			return nil, yurt.Errorf(yurt.CodeInvalidArgument, "%.100q is no blob of a layout; give its SHA-256 in hexadecimal", blob)
		}
		name = filepath.Join("blobs", "sha256", blob)
	}
	real, err := f.FindLayout(dir)
	if err != nil {
		return nil, err
	}
	return openRegular(filepath.Join(real, name))
}

// openRegular opens a regular file to read, past no link. Another file is not opened at all, since that can wait or have effects.
func openRegular(path string) (*os.File, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	found, err := openat.At(unix.AT_FDCWD, path, &how)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(found)
	var stat unix.Stat_t
	if err := unix.Fstat(found, &stat); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, yurt.Errorf(yurt.CodeArchiveInvalid, "%s in a layout is no regular file", path)
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/thread-self/fd/%d", found), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// OpenCredentials implements [Requests]. The file is opened for each pull, so that a change needs no restart.
func (f Files) OpenCredentials() (*os.File, error) {
	if f.Credentials == "" {
		return nil, yurt.Errorf(yurt.CodeNotFound, "this node has no credentials for registries; its operator can give some by image-auth")
	}
	file, err := os.Open(f.Credentials)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, yurt.Errorf(yurt.CodeUnavailable, "the file of the credentials for registries is not at %s", f.Credentials)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the credentials for registries: %w", err)
	}
	return file, nil
}
