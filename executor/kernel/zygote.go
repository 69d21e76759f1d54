package kernel

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// forkableKernel is forkable for a kernel. The zygote was told which kernel the template chooses,
// and answers that it cannot be that one where so it is.
func (e *Engine) forkableKernel(s *Sandbox, info yurt.RuntimeInfo) string {
	if !e.starter.Forks(s.ForStart(), info) {
		return ""
	}
	return info.Name
}

// Planner asks for the layers that the template of a sandbox has.
type Planner interface {
	Plan(ctx context.Context, s *sandbox.Sandbox) error
}

// ensureZygote starts the zygote of a kernel that is about to start, if the zygote can import the packages that the
// kernel would import itself.
func (e *Engine) ensureZygote(ctx context.Context, s *Sandbox, info yurt.RuntimeInfo) error {
	if !s.ImportsAhead(info.Name) || !e.starter.Forks(s.ForStart(), info) {
		return nil
	}
	if err := e.planner.Plan(ctx, s.Base()); err != nil { // the zygote imports from there
		return err
	}
	e.starter.EnsureZygote(s.ForStart(), info.Name)
	return nil
}
