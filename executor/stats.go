package executor

import (
	"context"

	"github.com/yurtrun/yurt"
)

// SandboxStats returns the resource use of the sandbox.
func (e *Executor) SandboxStats(ctx context.Context, id string) (yurt.SandboxStats, error) {
	s, err := e.FindUsable(ctx, id)
	if err != nil {
		return yurt.SandboxStats{}, err
	}
	stats, err := s.Stats()
	if err != nil {
		return yurt.SandboxStats{}, yurt.Errorf(yurt.CodeSandboxFailed, "measuring sandbox %s: %w", id, err)
	}
	return stats, nil
}

// SandboxHealth tells whether the sandbox works. A sandbox that is dead is no error.
func (e *Executor) SandboxHealth(ctx context.Context, id string) (yurt.SandboxHealth, error) {
	s, err := e.Find(ctx, id)
	if err != nil {
		return yurt.SandboxHealth{}, err
	}
	health, err := s.Health(ctx)
	if err != nil {
		return yurt.SandboxHealth{}, yurt.Errorf(yurt.CodeSandboxFailed, "looking at sandbox %s: %w", id, err)
	}
	return health, nil
}
