package node

import (
	"context"
	"log/slog"
	"sync"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/images"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/plugins/host"
)

// roots composes the root file systems of sandboxes, from paths of the host or from images.
type roots struct {
	hostPaths []string // that templates may bind
	packages  packages.Config
	images    *images.Store
	runtimes  *host.Host
	logger    *slog.Logger
}

// sandboxRoot is the root file system of a sandbox that is about to be made.
type sandboxRoot struct {
	layout   layout.Layout
	image    *images.Image // nil for a root of the host's paths
	commands []string      // directories of the toolchains' commands, for PATH
}

// rootOf returns the root of a sandbox that is about to be made. Its image is kept until letGo is called.
func (r *roots) rootOf(ctx context.Context, spec yurt.SandboxSpec, options createOptions, phases *sandbox.Phases) (root sandboxRoot, letGo func(), err error) {
	root.image, letGo, err = r.imageOf(ctx, spec.Template, phases)
	if err != nil {
		return root, letGo, err
	}
	var needed []rootfs.Toolchain
	if root.image == nil {
		needed = r.toolchains(ctx, spec.Template.Runtimes)
	}
	root.layout, root.commands, err = r.layout(spec, root.image, needed)
	if err == nil && !options.installs && mayInstall(r.packages, spec) {
		root.layout = packages.WithCommands(root.layout)
	}
	return root, letGo, err
}

// layout returns the entries of a root, and the directories of the toolchains' commands.
func (r *roots) layout(spec yurt.SandboxSpec, image *images.Image, needed []rootfs.Toolchain) (root layout.Layout, commands []string, err error) {
	if image != nil {
		root, err = rootfs.FromImage(image.Root)
	} else if root, err = rootfs.FromHost(spec.Template.RootFS.HostPaths, r.hostPaths); err == nil {
		root, commands = rootfs.AddToolchains(root, needed, r.hostPaths)
	}
	if err != nil || spec.Host == nil {
		return root, commands, err
	}
	root, err = rootfs.WithMounts(root, spec.Host.Mounts)
	return root, commands, err
}

// toolchains returns the files of the host that the runtimes of a template need. A runtime that does
// not answer is left out: an execution of its code is told the reason.
func (r *roots) toolchains(ctx context.Context, runtimes []string) []rootfs.Toolchain {
	answers := make([]rootfs.Toolchain, len(runtimes))
	var asked sync.WaitGroup
	for i, name := range runtimes {
		asked.Go(func() {
			info, err := r.runtimes.RuntimeOf(ctx, name)
			if err != nil {
				r.logger.Warn("a sandbox may lack files that a language needs", "runtime", name, "error", err)
				return
			}
			answers[i] = rootfs.Toolchain{HostPaths: info.HostPaths, Path: info.Path}
		})
	}
	asked.Wait()
	return answers
}

// imageOf returns the image that is the root of the template's sandboxes, nil for a root of the host's paths,
// and keeps it until letGo is called. It is pulled if it is not there, before the sandbox
// enters the queue.
func (r *roots) imageOf(ctx context.Context, template yurt.Template, phases *sandbox.Phases) (image *images.Image, letGo func(), err error) {
	letGo = func() {}
	if template.RootFS.Image == "" {
		return nil, letGo, nil
	}
	if len(template.RootFS.HostPaths) > 0 {
		return nil, letGo, yurt.FieldErrorf(yurt.CodeTemplateInvalid, "rootfs.image", "a root file system is an image or paths of the host; leave one of them out")
	}
	user := "making " + yurt.NewSandboxID()
	image, err = r.images.Get(ctx, template.RootFS.Image, user, false, func(string) error { return nil })
	phases.Mark("image")
	return image, func() { r.images.Release(user) }, err
}

// giveImage keeps the image for a sandbox that is made.
func (r *roots) giveImage(s *Handle, image *images.Image, undo *rollback) (err error) {
	if image == nil {
		return nil
	}
	s.Record.Image = image.Key // rootOf keeps it meanwhile
	s.Image, err = r.images.Use(image.Key, s.ID())
	undo.add(func() error { r.images.Release(s.ID()); return nil })
	return err
}

// adoptImage keeps the image of a sandbox that is adopted.
func (r *roots) adoptImage(s *Handle) (err error) {
	if s.Record.Image == "" {
		return nil
	}
	s.Image, err = r.images.Use(s.Record.Image, s.ID())
	if err == nil && s.Image == nil {
		r.logger.Warn("the image of a sandbox is gone, and its files with it", "sandbox", s.ID(), "image", s.Record.Spec.Template.RootFS.Image)
	}
	return err
}
