package rootfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
)

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
