package executor

import (
	"context"
	"slices"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/plugins"
)

// warmNow warms a sandbox up that nobody knows yet and is for nobody in particular: nobody waits
// for it, and nobody can claim it meanwhile.
func (e *Executor) warmNow(ctx context.Context, s *sandbox, to purpose, phases *phases) {
	if to.warm && (to.slot == nil || to.slot.Spec.For == "") {
		e.warmUp(ctx, s)
		phases.mark("interpreter")
	}
}

// warmLater warms a sandbox up that somebody has waited for.
func (e *Executor) warmLater(s *sandbox, to purpose) {
	if !to.warm && !to.installs {
		e.goes(func() { e.warmUp(e.ctx, s) })
	}
}

// warmUp starts what is to be there before code comes: the zygote that has modules to import,
// and in a sandbox that waits for its owner the first runtime's interpreter, if the template
// wants it. No code has run in the sandbox, and what fails here is done when it is needed.
func (e *Executor) warmUp(ctx context.Context, s *sandbox) {
	template := s.record.Spec.Template
	waits := s.record.Warm && template.WarmPool.Interpreter
	if len(template.Runtimes) == 0 || !waits && !s.importsAhead(template.Runtimes[0]) {
		return
	}
	info, err := e.runtimes.RuntimeOf(ctx, template.Runtimes[0])
	if err != nil {
		e.logger.Warn("no interpreter ahead", "sandbox", s.id, "error", err)
		return
	}
	if e.forks(s, info) {
		e.addZygote(s, info.Name, zygoteName(info.Name, 1))
	}
	if !waits || !slices.Contains(info.Abilities, plugins.AbilityKernel) {
		return
	}
	if c, err := e.contextOf(s, yurt.ExecutionSpec{Language: info.Name, ContextName: yurt.DefaultContext}); err == nil {
		c.ahead = true
		c.Start()
	}
}

// preload says what a zygote of the language is to import.
func (s *sandbox) preload(language string) []string {
	template := s.record.Spec.Template
	if len(template.Runtimes) == 0 || template.Runtimes[0] != language {
		return nil
	}
	return template.Preload
}

// importsAhead reports whether a zygote of the language imports more than an interpreter has loaded
// anyway: modules that the template names, or the kernel that it chooses.
func (s *sandbox) importsAhead(language string) bool {
	return len(s.preload(language)) > 0 || s.kernel(language) != ""
}

// templateLayer returns the packages of the template for code in the language, as far as they
// were asked for in the sandbox: one layer, or none.
func (s *sandbox) templateLayer(language string) packages.Layers {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, l := range s.planned {
		if l.Runtime == language {
			return s.planned[i : i+1]
		}
	}
	return nil
}

// hasLayers reports whether the layers are in the sandbox.
func (s *sandbox) hasLayers(layers packages.Layers) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(layers, func(l *packages.Layer) bool {
		_, mounted := s.mounted[l.Digest]
		return !mounted
	})
}

// coolDown ends the kernels of a sandbox that has just been claimed with an environment, which
// they lack. The first execution starts another.
func (e *Executor) coolDown(s *sandbox) {
	for _, c := range s.contextsNamed("", "") {
		s.mu.Lock()
		delete(s.contexts, c.key)
		s.mu.Unlock()
		e.goes(c.Close)
	}
}
