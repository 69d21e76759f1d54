package broker

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
	"github.com/yurtrun/yurt/executor/trees"
)

// RootParts names the parts of the root file system of a new sandbox: paths of the host or an image. The broker lays the root out itself, of paths
// that its own configuration offers and of images in its own store.
type RootParts struct {
	HostPaths  []string           `json:"host_paths,omitempty"`
	Toolchains []rootfs.Toolchain `json:"toolchains,omitempty"` // are bound as far as the configuration offers them
	Image      string             `json:"image,omitempty"`      // the key of an image, see [images.Image]
	Installs   bool               `json:"installs,omitempty"`   // it has the commands that install packages
}

// layOut lays out the root of a new sandbox. It returns the directories of the toolchains' commands too.
func (l *Local) layOut(r RootParts, host *yurt.HostAccess) (root layout.Layout, commands []string, err error) {
	if r.Image != "" {
		root, err = l.imageRoot(r)
	} else if root, err = rootfs.FromHost(r.HostPaths, l.HostPaths); err == nil {
		root, commands = rootfs.AddToolchains(root, r.Toolchains, l.HostPaths)
	}
	if err == nil && host != nil {
		root, err = rootfs.WithMounts(root, host.Mounts)
	}
	if err == nil && r.Installs {
		root = packages.WithCommands(root)
	}
	if err != nil {
		return root, nil, err
	}
	root.Devices, err = devicesOf(host)
	return root, commands, err
}

// imageRoot lays out the root of an image in the store.
func (l *Local) imageRoot(r RootParts) (layout.Layout, error) {
	if len(r.HostPaths) > 0 || len(r.Toolchains) > 0 {
		return layout.Layout{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, "root.image", "a root is an image or paths of the host; leave one of them out")
	}
	if !isDigest(r.Image) {
		return layout.Layout{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, "root.image", "%.200q is no key of an image; give the SHA-256 by which the store has it, in hexadecimal", r.Image)
	}
	return rootfs.FromImage(trees.Tree(l.ImagesDir, r.Image))
}

// isDigest reports whether a name is a SHA-256 in hexadecimal, which is never a path.
func isDigest(name string) bool {
	digest, err := hex.DecodeString(name)
	return err == nil && len(digest) == sha256.Size
}
