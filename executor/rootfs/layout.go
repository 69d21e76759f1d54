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

// host adds one path of the host: a link is made again, anything else bound. It takes the place of a file of the sandbox's own.
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
		l.Files = slices.DeleteFunc(slices.Clone(l.Files), func(f layout.File) bool { return f.Path == path }) // it is in the file's place
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

// Toolchain is the part of the host that a language runtime asks for. A runtime's wish is
// weaker than a template's demand: a path that the host lacks, that the operator does not
// offer, or that cannot be bound is left out without an error.
type Toolchain struct {
	HostPaths []string `json:"host_paths,omitempty"` // files and directories
	Path      []string `json:"path,omitempty"`       // directories of commands
}

// AddToolchains adds the files of the toolchains to a root file system of the host's directories, and returns the directories of
// commands that are among the bound ones.
func AddToolchains(root layout.Layout, toolchains []Toolchain, allowed []string) (layout.Layout, []string) {
	l := builder{root}
	var commands []string
	for _, t := range toolchains {
		for _, path := range t.HostPaths {
			if !l.has(path) {
				_ = l.host(path, allowed) // a wish, which fails before it changes the layout
			}
		}
		for _, dir := range t.Path {
			if info, err := os.Stat(dir); err == nil && info.IsDir() && below(dir, l.Binds) && !slices.Contains(commands, dir) {
				commands = append(commands, dir)
			}
		}
	}
	return l.Layout, commands
}

// has reports whether the layout has the path, or would have it twice with it.
func (l *builder) has(path string) bool {
	return below(path, l.Binds) || slices.ContainsFunc(l.Links, func(link layout.Link) bool { return link.Path == path }) ||
		slices.ContainsFunc(l.Binds, func(bound string) bool { return below(bound, []string{path}) })
}

// WithMounts returns the layout with a directory or an empty file for each mount of a sandbox. Below directories of the host no
// entry can be made; there it has to exist.
func WithMounts(root layout.Layout, mounts []yurt.Mount) (layout.Layout, error) {
	l := builder{root}
	l.Dirs, l.Files = slices.Clone(root.Dirs), slices.Clone(root.Files)
	for _, m := range mounts {
		source := filepath.Join("/", m.Base, m.Source)
		info, err := os.Stat(source)
		if err != nil {
			return root, yurt.FieldErrorf(yurt.CodeInvalidArgument, "host.mounts", "mounting %s: %w", source, err)
		}
		file := info.Mode().IsRegular()
		switch {
		case !file && !info.IsDir():
			return root, yurt.FieldErrorf(yurt.CodeInvalidArgument, "host.mounts", "%s is neither a directory nor a regular file", source)
		case file && !m.ReadOnly:
			return root, yurt.FieldErrorf(yurt.CodeInvalidArgument, "host.mounts", "%s is a file, which can be mounted read-only alone; mount the directory that it is in", source)
		}
		if err := l.mountPoint(m.Target, file); err != nil {
			return root, err
		}
	}
	return l.Layout, nil
}

// mountPoint adds one.
func (l *builder) mountPoint(target string, file bool) error {
	for _, link := range l.Links {
		if below(target, []string{link.Path}) {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "host.mounts", "the target %s leads through the link %s; name what is behind it", target, link.Path)
		}
	}
	if link := linkInImage(l.Image, target); link != "" {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "host.mounts", "the target %s leads through %s, which is a link in the image; name what is behind it", target, link)
	}
	for _, bind := range l.Binds {
		if !below(target, []string{bind}) {
			continue
		}
		if info, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() == file {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "host.mounts", "the target %s is in %s, which is the node's and has no such place; take another target", target, bind)
		}
		return nil
	}
	l.dir(filepath.Dir(target))
	if !file {
		l.dir(target)
	} else if !slices.ContainsFunc(l.Files, func(f layout.File) bool { return f.Path == target }) {
		l.Files = append(l.Files, layout.File{Path: target})
	}
	return nil
}

// linkInImage returns the first part of the path that is a link in the image, or "". A directory in its place would hide the
// target.
func linkInImage(image, target string) string {
	if image == "" {
		return ""
	}
	part := ""
	for name := range strings.SplitSeq(strings.TrimPrefix(filepath.Clean(target), "/"), "/") {
		part += "/" + name
		info, err := os.Lstat(image + part)
		if err != nil {
			return ""
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return part
		}
	}
	return ""
}
