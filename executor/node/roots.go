package node

import (
	"context"
	"log/slog"
	"sync"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/images"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/rootfs"
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
	parts broker.RootParts
	image *images.Image // nil for a root of the host's paths
}

// rootOf returns the root of a sandbox that is about to be made. Its image is kept until letGo is called.
func (r *roots) rootOf(ctx context.Context, spec yurt.SandboxSpec, options createOptions, phases *sandbox.Phases) (root sandboxRoot, letGo func(), err error) {
	root.image, letGo, err = r.imageOf(ctx, spec.Template, phases)
	if err != nil {
		return root, letGo, err
	}
	root.parts.Installs = !options.installs && mayInstall(r.packages, spec)
	if root.image != nil {
		root.parts.Image = root.image.Key
		return root, letGo, nil
	}
	root.parts.HostPaths = spec.Template.RootFS.HostPaths
	root.parts.Toolchains = r.toolchains(ctx, spec.Template.Runtimes)
	return root, letGo, nil
}

// check refuses a template whose paths of the host this node does not offer.
func (r *roots) check(template yurt.Template) error {
	_, err := rootfs.FromHost(template.RootFS.HostPaths, r.hostPaths)
	return err
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
