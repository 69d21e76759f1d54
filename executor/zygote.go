package executor

import (
	"context"

	"github.com/yurtrun/yurt"
)

// forkableKernel is forkable for a kernel. The zygote was told which kernel the template chooses,
// and answers that it cannot be that one where so it is.
func (e *Executor) forkableKernel(s *handle, info yurt.RuntimeInfo) string {
	if !e.starter.Forks(s.Sandbox.Sandbox, info) {
		return ""
	}
	return info.Name
}

// ensureZygote starts the zygote of a kernel that is about to start, where it imports ahead what the
// kernel would import itself.
func (e *Executor) ensureZygote(ctx context.Context, s *handle, info yurt.RuntimeInfo) error {
	if !s.ImportsAhead(info.Name) || !e.starter.Forks(s.Sandbox.Sandbox, info) {
		return nil
	}
	if _, err := e.templateLayers(ctx, s); err != nil { // the zygote imports from there
		return err
	}
	e.starter.EnsureZygote(s.Sandbox.Sandbox, info.Name)
	return nil
}
