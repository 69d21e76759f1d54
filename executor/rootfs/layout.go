package rootfs

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
	"github.com/yurtrun/yurt/executor/rootfs/layout"
)

// RunDir is where each execution has a directory inside every sandbox, read-only to user
// code.
const RunDir = "/run/yurt"

// The user that code runs as inside every sandbox.
const (
	UserID   = 1000
	GroupID  = 1000
	UserName = "user"
	Hostname = "sandbox" // of those that have no other
)

// FromHost lays out a root file system of the host's own directories. Each must be
// one of those allowed or below one, links followed. Paths that do not exist on this
// host are left out, as an architecture's /lib32 may be.
func FromHost(paths, allowed []string) (layout.Layout, error) {
	l := builder{layout.Layout{Files: etcFiles()}}
	l.dir("/etc")
	for _, path := range paths {
		if err := l.host(path, allowed); err != nil {
			return layout.Layout{}, err
		}
	}
	for _, dir := range ownDirs() {
		l.dir(dir)
	}
	return l.Layout, nil
}

// FromImage lays out a root file system of the files of an image, which are in dir on the host. A sandbox's own directories hide
// the image's in the same places; its accounts are the image's.
func FromImage(dir string) (layout.Layout, error) {
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return layout.Layout{}, fmt.Errorf("laying out the root file system of an image: %w", err)
	}
	l := builder{layout.Layout{Image: dir, ImageID: fmt.Sprint(stat.Dev, " ", stat.Ino, " ", stat.Ctim.Nano())}}
	l.dir("/etc")
	for _, file := range etcFiles() {
		if slices.Contains([]string{"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}, file.Path) {
			l.Files = append(l.Files, file)
		}
	}
	for _, own := range ownDirs() {
		l.dir(own)
	}
	return l.Layout, nil
}

// ownDirs are a sandbox's own directories.
func ownDirs() []string { return []string{"/proc", layout.DevDir, "/tmp", RunDir, yurt.WorkspaceDir} }

// builder is a layout that grows.
type builder struct{ layout.Layout }

// host adds one path of the host: a link is made again, anything else bound.
func (l *builder) host(path string, allowed []string) error {
	if err := offered(path, allowed); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("laying out the root file system: %w", err)
	}
	l.dir(filepath.Dir(path))
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return fmt.Errorf("laying out the root file system: %w", err)
		}
		l.Links = append(l.Links, layout.Link{Path: path, Target: target})
	case info.IsDir():
		l.dir(path)
		l.Binds = append(l.Binds, path)
	case info.Mode().IsRegular():
		l.Files = append(l.Files, layout.File{Path: path})
		l.Binds = append(l.Binds, path)
	default:
		return yurt.FieldErrorf(yurt.CodeTemplateInvalid, "rootfs.host_paths", "%s is neither a directory nor a regular file", path)
	}
	return nil
}

// offered returns an error unless sandboxes may have the path, with all links that it leads through, and it exists;
// fs.ErrNotExist if only the latter fails.
func offered(path string, allowed []string) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return yurt.FieldErrorf(yurt.CodeTemplateInvalid, "rootfs.host_paths", "%q is not an absolute and clean path", path)
	}
	// Before any look at it, which would tell whether it exists.
	if !below(path, allowed) {
		return notOffered(path, allowed)
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fs.ErrNotExist
	}
	if err != nil {
		return yurt.FieldErrorf(yurt.CodeTemplateInvalid, "rootfs.host_paths", "%s cannot be resolved on this node: %w", path, err)
	}
	if !below(real, allowed) {
		return notOffered(path, allowed)
	}
	parent := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(parent); err != nil || real != parent {
		return yurt.FieldErrorf(yurt.CodeTemplateInvalid, "rootfs.host_paths", "%s is a link on this node; name %s, or %s below what it leads to", parent, parent, filepath.Base(path))
	}
	return nil
}

func notOffered(path string, allowed []string) error {
	return yurt.FieldErrorf(yurt.CodeForbidden, "rootfs.host_paths",
		"%s is not offered to sandboxes on this node, which offers %s; take another path, or ask its operator", path, strings.Join(allowed, ", "))
}

// below reports whether the path is one of those allowed, or below one.
func below(path string, allowed []string) bool {
	return slices.ContainsFunc(allowed, func(root string) bool {
		return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/")
	})
}

// dir adds a directory and its parents.
func (l *builder) dir(path string) {
	if path == "/" || slices.Contains(l.Dirs, path) {
		return
	}
	l.dir(filepath.Dir(path))
	l.Dirs = append(l.Dirs, path)
}

// etcFiles is the /etc of every sandbox: enough for names to resolve, and without facts about the host.
func etcFiles() []layout.File {
	return []layout.File{
		{Path: "/etc/passwd", Data: "root:x:0:0:root:/:/usr/sbin/nologin\n" +
			UserName + ":x:1000:1000:sandbox user:" + yurt.WorkspaceDir + ":/bin/sh\n" +
			"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
		{Path: "/etc/group", Data: "root:x:0:\ntty:x:5:\n" + UserName + ":x:1000:\nnogroup:x:65534:\n"},
		{Path: "/etc/hosts", Data: "127.0.0.1 localhost\n::1 localhost\n"},
		{Path: "/etc/hostname", Data: Hostname + "\n"},
		{Path: "/etc/nsswitch.conf", Data: "passwd: files\ngroup: files\nhosts: files dns\n"},
		{Path: "/etc/resolv.conf", Data: ""},
	}
}
