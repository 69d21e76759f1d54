package executor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/launch"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
)

// mountPoints adds what a sandbox's mounts need in its root: a directory or an empty file
// each. Below what is bound from the host nothing can be made; there it has to be.
func mountPoints(root layout.Layout, mounts []yurt.Mount) (layout.Layout, error) {
	root.Dirs, root.Files = slices.Clone(root.Dirs), slices.Clone(root.Files)
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
		if err := mountPoint(&root, m.Target, file); err != nil {
			return root, err
		}
	}
	return root, nil
}

// mountPoint adds one.
func mountPoint(root *layout.Layout, target string, file bool) error {
	for _, link := range root.Links {
		if target == link.Path || strings.HasPrefix(target, link.Path+"/") {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "host.mounts", "the target %s leads through the link %s; name what is behind it", target, link.Path)
		}
	}
	if link := linkInImage(root.Image, target); link != "" {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "host.mounts", "the target %s leads through %s, which is a link in the image; name what is behind it", target, link)
	}
	for _, bind := range root.Binds {
		if target != bind && !strings.HasPrefix(target, bind+"/") {
			continue
		}
		if info, err := os.Lstat(target); errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() == file {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "host.mounts", "the target %s is in %s, which is the node's and has no such place; take another target", target, bind)
		}
		return nil
	}
	addParents(root, filepath.Dir(target))
	if !file {
		addParents(root, target)
	} else if !slices.ContainsFunc(root.Files, func(f layout.File) bool { return f.Path == target }) {
		root.Files = append(root.Files, layout.File{Path: target})
	}
	return nil
}

// linkInImage returns the first part of the path that is a link in the image; "" for none. A
// directory would hide it, with all that is behind it.
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

func addParents(root *layout.Layout, dir string) {
	if dir == "/" || slices.Contains(root.Dirs, dir) {
		return
	}
	addParents(root, filepath.Dir(dir))
	root.Dirs = append(root.Dirs, dir)
}

// bindsOf are the mounts, parents before what is in them.
func bindsOf(host *yurt.HostAccess) []launch.Bind {
	if host == nil {
		return nil
	}
	binds := make([]launch.Bind, 0, len(host.Mounts))
	for _, m := range host.Mounts {
		binds = append(binds, launch.Bind(m))
	}
	slices.SortStableFunc(binds, func(a, b launch.Bind) int { return strings.Compare(a.Target, b.Target) })
	return binds
}

func networkOf(host *yurt.HostAccess) string {
	if host == nil {
		return ""
	}
	return host.NetworkNamespace
}

// writableMounts are the targets that user code may write to.
func writableMounts(host *yurt.HostAccess) (paths []string) {
	if host == nil {
		return nil
	}
	for _, m := range host.Mounts {
		if !m.ReadOnly {
			paths = append(paths, m.Target)
		}
	}
	return paths
}
