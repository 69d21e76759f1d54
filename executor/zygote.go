package executor

import (
	"context"
	"path"

	"github.com/yurtrun/yurt"
)

// forkable returns the language whose zygote can start the job as a fresh interpreter would
// run it, or "". What comes to an interpreter before its first line, its environment above
// all, is the zygote's.
func (e *Executor) forkable(s *handle, st request, j job, info yurt.RuntimeInfo) string {
	spec := st.spec
	switch {
	case !e.starter.Forks(s.Sandbox, info), j.plan.Compiles > 0, st.ownEnv, st.layer != s.TemplateLayer(info.Name).Mount():
	case len(spec.Stdin) > 0, spec.StdinOpen, spec.Terminal != nil, spec.User != nil, len(st.stdio.files()) > 0:
	case len(s.Record.Spec.Template.Preload) > 0 && path.Dir(spec.Entry) != ".": // a zygote looks for files of the same names in the directory alone
	default:
		return info.Name
	}
	return ""
}

// forkableKernel is forkable for a kernel. The zygote was told which kernel the template chooses,
// and answers that it cannot be that one where so it is.
func (e *Executor) forkableKernel(s *handle, info yurt.RuntimeInfo) string {
	if !e.starter.Forks(s.Sandbox, info) {
		return ""
	}
	return info.Name
}

// ensureZygote starts the zygote of a kernel that is about to start, where it imports ahead what the
// kernel would import itself.
func (e *Executor) ensureZygote(ctx context.Context, s *handle, info yurt.RuntimeInfo) error {
	if !s.ImportsAhead(info.Name) || !e.starter.Forks(s.Sandbox, info) {
		return nil
	}
	if _, err := e.templateLayers(ctx, s); err != nil { // the zygote imports from there
		return err
	}
	e.starter.EnsureZygote(s.Sandbox, info.Name)
	return nil
}
