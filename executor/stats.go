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
