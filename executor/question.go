package executor

import (
	"context"

	"github.com/yurtrun/yurt"
)

// AskContext asks the interpreter of a context about code. Errors: the context is busy
// ([yurt.CodeContextBusy]) or is not there and the question has no language
// ([yurt.CodeContextNotFound]); its runtime answers no questions ([yurt.CodeNotSupported]); the
// interpreter did not answer in time ([yurt.CodeDeadlineExceeded]).
func (e *Executor) AskContext(ctx context.Context, sandboxID, name string, ask yurt.Question) (yurt.Answer, error) {
	if err := ask.Validate(); err != nil {
		return yurt.Answer{}, err
	}
	s, err := e.FindUsable(ctx, sandboxID)
	if err != nil {
		return yurt.Answer{}, err
	}
	return e.Kernels().Ask(ctx, s.Sandbox, name, ask)
}
