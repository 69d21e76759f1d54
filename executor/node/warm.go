package node

import (
	"context"
	"log/slog"
	"slices"

	"github.com/yurtrun/yurt/executor/kernel"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/executor/start"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/host"
)

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

// warmUp starts the zygote that has modules to import, and in a sandbox without an owner also the first runtime's interpreter, if the
// template wants it. No code has run in the sandbox. A step that fails here is done when it is needed.
func (w *warmer) warmUp(ctx context.Context, s *Handle) {
	template := s.Record.Spec.Template
	waits := s.Record.Warm && template.WarmPool.Interpreter
	if len(template.Runtimes) == 0 || !waits && !s.ImportsAhead(template.Runtimes[0]) {
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
