package node

import (
	"context"
	"slices"

	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/plugins"
)

// warmNow warms a sandbox up that nobody knows yet and is for nobody in particular: nobody waits
// for it, and nobody can claim it meanwhile.
func (n *Node) warmNow(ctx context.Context, s *Handle, to purpose, phases *sandbox.Phases) {
	if to.warm && (to.slot == nil || to.slot.Spec.For == "") {
		n.warmUp(ctx, s)
		phases.Mark("interpreter")
	}
}

// warmLater warms a sandbox up that somebody has waited for.
func (n *Node) warmLater(s *Handle, to purpose) {
	if !to.warm && !to.installs {
		n.goes(func() { n.warmUp(n.ctx, s) })
	}
}

// warmUp starts what is to be there before code comes: the zygote that has modules to import,
// and in a sandbox that waits for its owner the first runtime's interpreter, if the template
// wants it. No code has run in the sandbox, and what fails here is done when it is needed.
func (n *Node) warmUp(ctx context.Context, s *Handle) {
	template := s.Record.Spec.Template
	waits := s.Record.Warm && template.WarmPool.Interpreter
	if len(template.Runtimes) == 0 || !waits && !s.ImportsAhead(template.Runtimes[0]) {
		return
	}
	info, err := n.runtimes.RuntimeOf(ctx, template.Runtimes[0])
	if err != nil {
		n.logger.Warn("no interpreter ahead", "sandbox", s.ID(), "error", err)
		return
	}
	if n.starter.Forks(s.ForStart(), info) {
		n.starter.AddFirstZygote(s.ForStart(), info.Name)
	}
	if !waits || !slices.Contains(info.Abilities, plugins.AbilityKernel) {
		return
	}
	n.kernels.StartAhead(s.Sandbox, info.Name)
}
