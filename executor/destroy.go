package executor

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/yurtrun/yurt"
)

// DestroySandbox ends everything in the sandbox and removes it. Executions that
// run in it end with an error; one that asks for their result still gets it.
// Destroying a sandbox that does not exist is no error.
func (e *Executor) DestroySandbox(ctx context.Context, id string) error {
	s, err := e.find(id)
	if yurt.CodeOf(err) == yurt.CodeSandboxNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	first := !s.ending
	s.ending = true
	s.mu.Unlock()
	if !first {
		return nil // somebody else does it
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := destroyGroup(s.group); err != nil {
		s.mu.Lock()
		s.ending = false // so that it can be tried again
		s.mu.Unlock()
		return yurt.Errorf(yurt.CodeSandboxFailed, "destroying sandbox %s: %w", id, err)
	}
	s.waitRuns(ctx) // their output ends with init, so this is short
	s.release()
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("destroying sandbox %s: %w", id, err)
	}
	e.mu.Lock()
	delete(e.sandboxes, id)
	e.mu.Unlock()
	e.ids.free(s.record.IDBase)
	return nil
}

// DestroyAll destroys every sandbox of this node.
func (e *Executor) DestroyAll(ctx context.Context) error {
	var errs []error
	for _, s := range e.list() {
		errs = append(errs, e.DestroySandbox(ctx, s.id))
	}
	return errors.Join(errs...)
}

// waitRuns waits until every execution has its result.
func (s *sandbox) waitRuns(ctx context.Context) {
	s.mu.Lock()
	runs := make([]*run, 0, len(s.runs))
	for _, r := range s.runs {
		runs = append(runs, r)
	}
	s.mu.Unlock()
	for _, r := range runs {
		select {
		case <-r.done:
		case <-ctx.Done():
			return
		}
	}
}
