package node

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/kernel"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/executor/start"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/host"
)

// maxPrefetched bounds of how many templates it is remembered which layers they have.
const maxPrefetched = 256

// provisioner installs dependency layers, ahead of time or when a sandbox needs them.
type provisioner struct {
	node      *Node
	installer *packages.Installer

	mu         sync.Mutex
	prefetched map[string]packages.Layers // of templates whose packages were installed, by digest
}

func newProvisioner(n *Node) *provisioner {
	p := &provisioner{node: n, prefetched: make(map[string]packages.Layers)}
	p.installer = packages.NewInstaller(n.table.ctx, n.config.Packages, n.layers, n.table.serve, p.carryOut, n.figures.Installed)
	return p
}

// PrepareTemplate pulls the image of the template, after asking its registry anew, and installs
// its packages, so that its sandboxes have them from the beginning. It tells how the pull
// goes and what the package managers print. A package that cannot be
// installed is an error of the template.
func (p *provisioner) PrepareTemplate(ctx context.Context, template yurt.Template, tell func(string) error) error {
	if image := template.RootFS.Image; image != "" {
		if _, err := p.node.PrepareImage(ctx, image, tell); err != nil {
			return err
		}
	}
	if len(template.Dependencies) == 0 {
		return nil
	}
	// Where the tools are, and which, is seen in a sandbox alone.
	view, err := p.node.make(ctx, installSpec(template), createOptions{installs: true})
	if err != nil {
		return err
	}
	defer func() {
		if err := p.node.DestroySandbox(context.WithoutCancel(ctx), view.ID); err != nil && p.node.table.ctx.Err() == nil {
			p.node.logger.Error("removing the sandbox in which a template was prepared", "sandbox", view.ID, "error", err)
		}
	}()
	s, err := p.node.Find(ctx, view.ID)
	if err != nil {
		return err
	}
	needs, err := p.node.planner.layersOf(ctx, s.Base(), template)
	if err != nil {
		return err
	}
	if err := p.installAll(ctx, s, needs, tell); err != nil {
		if code := yurt.CodeOf(err); code != yurt.CodeInternal || ctx.Err() != nil || p.node.table.ctx.Err() != nil {
			return err
		}
		return yurt.FieldErrorf(yurt.CodeTemplateInvalid, "dependencies", "%w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.prefetched) >= maxPrefetched {
		clear(p.prefetched) // layers that are needed are found again
	}
	p.prefetched[template.Digest()] = needs
	return nil
}

// prefetch installs the packages of a template, unless they are there.
func (p *provisioner) prefetch(ctx context.Context, template yurt.Template) error {
	if len(template.Dependencies) == 0 {
		return nil
	}
	p.mu.Lock()
	needs := p.prefetched[template.Digest()]
	p.mu.Unlock()
	if len(needs) > 0 {
		user := "looking " + yurt.NewSandboxID()
		missing, err := p.missingLayers(needs, user)
		p.node.layers.Release(user)
		if err != nil || len(missing) == 0 {
			return err
		}
	}
	return p.PrepareTemplate(ctx, template, func(string) error { return nil })
}

// addLayers gives a new sandbox, which is not registered yet, the layers of its template that exist. Executions wait for the others.
func (p *provisioner) addLayers(ctx context.Context, s *Handle) {
	needs, err := p.node.planner.templateLayers(ctx, s.Base())
	for _, l := range needs {
		there, useErr := p.node.layers.Use(l.Digest, s.ID())
		if useErr != nil || !there {
			err = errors.Join(err, useErr)
			continue
		}
		s.Record.Layers = append(s.Record.Layers, l.Digest) // written with the rest of the record
		err = errors.Join(err, s.MountLayer(p.node.layers, l))
	}
	if err != nil {
		p.node.logger.Warn("a sandbox begins without packages of its template", "sandbox", s.ID(), "template", s.Template, "error", err)
	}
}

// PrepareImage pulls the image, after asking its registry anew for the reference, and describes it. It tells how that goes.
func (n *Node) PrepareImage(ctx context.Context, reference string, tell func(string) error) (yurt.ImageInfo, error) {
	user := "preparing " + yurt.NewSandboxID()
	image, err := n.images.Get(ctx, reference, user, true, func(text string) error { return tell(text + "\n") })
	if err != nil {
		return yurt.ImageInfo{}, err
	}
	defer n.images.Release(user)
	return image.Describe()
}

// warmer starts interpreters before code comes.
type warmer struct {
	ctx      context.Context //nolint:containedctx // it is the node's life
	logger   *slog.Logger
	runtimes *host.Host
	starter  *start.Engine
	kernels  *kernel.Engine
	goes     func(do func())
}

// warmNow warms up a sandbox that no caller waits for. It is not registered yet, so no caller can claim it meanwhile.
func (w *warmer) warmNow(ctx context.Context, s *Handle, options createOptions, phases *sandbox.Phases) {
	if options.warm && (options.slot == nil || options.slot.Spec.For == "") {
		w.warmUp(ctx, s)
		phases.Mark("interpreter")
	}
}

// warmLater warms up a sandbox that a caller has waited for.
func (w *warmer) warmLater(s *Handle, options createOptions) {
	if !options.warm && !options.installs {
		w.goes(func() { w.warmUp(w.ctx, s) })
	}
}

// warmUp starts the zygote that has modules to import, and in a sandbox without an owner also the first runtime's interpreter, if that
// has modules to import or the template wants it. No code has run in the sandbox. A step that fails here is done when it is needed.
func (w *warmer) warmUp(ctx context.Context, s *Handle) {
	template := s.Record.Spec.Template
	if len(template.Runtimes) == 0 {
		return
	}
	imports := s.ImportsAhead(template.Runtimes[0])
	waits := s.Record.Warm && (imports || template.WarmPool.Interpreter)
	if !imports && !waits {
		return
	}
	info, err := w.runtimes.RuntimeOf(ctx, template.Runtimes[0])
	if err != nil {
		w.logger.Warn("no interpreter ahead", "sandbox", s.ID(), "error", err)
		return
	}
	if w.starter.Forks(s.ForStart(), info) {
		w.starter.AddFirstZygote(s.ForStart(), info.Name)
	}
	if !waits || !slices.Contains(info.Abilities, plugins.AbilityKernel) {
		return
	}
	w.kernels.StartAhead(s.Sandbox, info.Name)
}
