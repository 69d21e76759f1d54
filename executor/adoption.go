package executor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/yurtrun/yurt/executor/sandbox"
)

const (
	// adoptTimeout bounds how long the init of a sandbox that is taken over may take for its
	// answers, all together. It is generous, since a sandbox that is given up is lost.
	adoptTimeout = time.Minute
	// silentAfter is how much of that the node waits for before it begins without the sandbox.
	silentAfter = time.Second
	// adoptions bounds how many sandboxes are taken over at the same time, beside those whose
	// init is waited for.
	adoptions = 8
)

// adoption is how a sandbox comes from an earlier executor to this one. Until it is done only
// the goroutine that takes over uses the sandbox, and others may end it.
type adoption struct {
	ctx    context.Context //nolint:containedctx // it is the adoption's life: done when the sandbox is gone, or the node is closed
	cancel context.CancelFunc
	left   time.Duration // that init may yet take for answers
	slow   time.Duration // how much of that is left before it is silent
	hush   func()        // closes silent
	silent chan struct{} // closed when the node does not wait for it any more
	done   chan struct{} // closed when it is over
	err    error         // why it failed; set when it is done
}

func (e *Executor) newAdoption() *adoption {
	a := &adoption{left: e.adoptTimeout, slow: silentAfter, silent: make(chan struct{}), done: make(chan struct{})}
	a.ctx, a.cancel = context.WithCancel(e.ctx)
	a.hush = sync.OnceFunc(func() { close(a.silent) })
	return a
}

// awaitAdoptions returns when all are done but those whose init is silent.
func (e *Executor) awaitAdoptions(ctx context.Context, list []*handle) error {
	for _, s := range list {
		select {
		case <-s.adoption.done:
		case <-s.adoption.silent:
			e.logger.Warn("the init of a sandbox is slow to answer, and the node does not wait for it", "sandbox", s.ID())
		case <-ctx.Done():
			return fmt.Errorf("taking over sandboxes: %w", ctx.Err())
		}
	}
	return nil
}

// takeOver takes over a sandbox that is one of this node's already, or ends it and says why.
func (e *Executor) takeOver(s *handle) {
	a := s.adoption
	defer close(a.done)
	defer a.cancel()
	e.adoptions <- struct{}{}
	defer func() { <-e.adoptions }()
	switch err := e.goOnWith(s); {
	case err == nil:
		e.offer(s)
	case e.leaves(s):
		a.err = sandbox.ErrShuttingDown()
	default:
		e.died(s, "it could not be taken over: "+err.Error())
		_ = s.Process.Kill()
		a.err = s.CheckUsable()
	}
}

// leaves reports whether a sandbox is left to the next executor as it is, so that nothing is to
// be concluded from what its init does not answer.
func (e *Executor) leaves(s *handle) bool { return e.ctx.Err() != nil && !s.IsGone() }

// askLeft asks the init of a sandbox that is taken over for something, as long as it has time
// left for that. Others have their turn meanwhile.
func (e *Executor) askLeft(s *handle, do func(context.Context) error) error {
	a := s.adoption
	<-e.adoptions
	defer func() { e.adoptions <- struct{}{} }()
	ctx, cancel := context.WithTimeout(a.ctx, a.left)
	defer cancel()
	defer time.AfterFunc(a.slow, a.hush).Stop()
	began := time.Now()
	err := do(ctx)
	took := time.Since(began)
	a.left, a.slow = a.left-took, a.slow-took
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("its init did not answer within %s", e.adoptTimeout)
	}
	return err
}

// asking asks the init of a sandbox that is taken over.
type asking struct {
	executor *Executor
	sandbox  *handle
}

// Ask implements [asker].
func (a asking) Ask(do func(context.Context) error) error { return a.executor.askLeft(a.sandbox, do) }

// Leaves implements [asker].
func (a asking) Leaves() bool { return a.executor.leaves(a.sandbox) }

// goOnWith goes on with what there is in a sandbox.
func (e *Executor) goOnWith(s *handle) error {
	if err := e.askLeft(s, s.Init.Ping); err != nil {
		return err
	}
	if err := s.Open(); err != nil {
		return err
	}
	if err := s.AdoptPause(s.adoption.ctx); err != nil {
		return err
	}
	if err := e.starter.EndZygotes(s.adoption.ctx, s.ForStart()); err != nil {
		return err
	}
	return e.kernels.AdoptRuns(s.Sandbox, asking{e, s})
}
