package executor

import (
	"context"

	"github.com/yurtrun/yurt"
)

// Contexts lists the contexts of a sandbox by name.
func (e *Executor) Contexts(ctx context.Context, sandboxID string) ([]yurt.Context, error) {
	s, err := e.Find(ctx, sandboxID)
	if err != nil {
		return nil, err
	}
	return s.Contexts(), nil
}

// RestartContext ends the interpreters of the contexts of that name, and with them
// their running executions. Waiting executions go on in fresh interpreters. An empty language means each.
func (e *Executor) RestartContext(ctx context.Context, sandboxID, name, language string) error {
	s, err := e.FindUsable(ctx, sandboxID)
	if err != nil {
		return err
	}
	return s.RestartContexts(name, language)
}

// RemoveContext ends the contexts of that name and everything that runs or waits
// there. An empty language means each.
func (e *Executor) RemoveContext(ctx context.Context, sandboxID, name, language string) error {
	s, err := e.FindUsable(ctx, sandboxID)
	if err != nil {
		return err
	}
	return s.RemoveContexts(name, language)
}
