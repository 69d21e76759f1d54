package executor

import (
	"context"
	"runtime"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/admission"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// Limits of what a node does at once, where its configuration says nothing.
const (
	defaultMaxSandboxes  = 1000
	defaultMaxQueue      = 256
	defaultMaxExecutions = 10_000
)

// How long whoever is refused does best to wait, by what the node has too many of.
const (
	retrySandboxes = 5 * time.Second
	retryQueue     = time.Second
)

// defaultMaxCreates keeps the processors busy with creates, and each of them quick.
func defaultMaxCreates() int { return max(4, 2*runtime.NumCPU()) }

// begin takes a place for the sandbox, and then waits until it may be made: so many are
// made at once, and so many wait. Close waits for those that have begun. The caller
// calls done.
func (e *Executor) begin(ctx context.Context, id string, to purpose) (done func(), err error) {
	if err := e.takePlace(id, to); err != nil {
		return nil, err
	}
	leave := func() {
		e.mu.Lock()
		delete(e.making, id)
		e.mu.Unlock()
		e.wait.Done()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.ctx, cancel)()
	err = e.creates.Enter(ctx, to.urgent(), to.hurried())
	switch {
	case err == nil:
		return func() { e.creates.Leave(); leave() }, nil
	case e.ctx.Err() != nil:
		err = sandbox.ErrShuttingDown()
	}
	leave()
	return nil, err
}

// takePlace refuses what would be too much. A slot has been granted to be filled, so its
// sandbox waits however many others do.
func (e *Executor) takePlace(id string, to purpose) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, making := e.making[id]
	switch waiting := e.waiting(); {
	case e.closed:
		return sandbox.ErrShuttingDown()
	case e.draining.Load():
		return errDraining()
	case making || e.sandboxes[id] != nil:
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "id", "sandbox %s exists already", id)
	case len(e.sandboxes)+len(e.making) >= e.config.MaxSandboxes:
		return admission.Overloaded(retrySandboxes, "this node has %d sandboxes, as many as it may; try again when some have ended", e.config.MaxSandboxes)
	case waiting >= e.config.MaxQueue && to.slot == nil:
		return admission.Overloaded(retryQueue, "%d sandboxes wait to be made on this node, as many as may; try again in a moment", waiting)
	}
	e.making[id] = to
	e.wait.Add(1)
	return nil
}

// waiting counts the sandboxes that callers wait for beyond those that are made at once.
// The lock is held.
func (e *Executor) waiting() int {
	asked := 0
	for _, to := range e.making {
		if to.slot == nil {
			asked++
		}
	}
	return asked - e.config.MaxCreates
}
