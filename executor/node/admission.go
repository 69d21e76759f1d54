package node

import (
	"context"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/admission"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// How long whoever is refused does best to wait, by what the node has too many of.
const (
	retrySandboxes = 5 * time.Second
	retryQueue     = time.Second
)

// begin takes a place for the sandbox, and then waits until it may be made: so many are
// made at once, and so many wait. Close waits for those that have begun. The caller
// calls done.
func (n *Node) begin(ctx context.Context, id string, to purpose) (done func(), err error) {
	if err := n.takePlace(id, to); err != nil {
		return nil, err
	}
	leave := func() {
		n.mu.Lock()
		delete(n.making, id)
		n.mu.Unlock()
		n.wait.Done()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()
	err = n.creates.Enter(ctx, to.urgent(), to.hurried())
	switch {
	case err == nil:
		return func() { n.creates.Leave(); leave() }, nil
	case n.ctx.Err() != nil:
		err = sandbox.ErrShuttingDown()
	}
	leave()
	return nil, err
}

// takePlace refuses what would be too much. A slot has been granted to be filled, so its
// sandbox waits however many others do.
func (n *Node) takePlace(id string, to purpose) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, making := n.making[id]
	switch waiting := n.waiting(); {
	case n.closed:
		return sandbox.ErrShuttingDown()
	case n.draining.Load():
		return errDraining()
	case making || n.sandboxes[id] != nil:
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "id", "sandbox %s exists already", id)
	case len(n.sandboxes)+len(n.making) >= n.config.MaxSandboxes:
		return admission.Overloaded(retrySandboxes, "this node has %d sandboxes, as many as it may; try again when some have ended", n.config.MaxSandboxes)
	case waiting >= n.config.MaxQueue && to.slot == nil:
		return admission.Overloaded(retryQueue, "%d sandboxes wait to be made on this node, as many as may; try again in a moment", waiting)
	}
	n.making[id] = to
	n.wait.Add(1)
	return nil
}

// waiting counts the sandboxes that callers wait for beyond those that are made at once.
// The lock is held.
func (n *Node) waiting() int {
	asked := 0
	for _, to := range n.making {
		if to.slot == nil {
			asked++
		}
	}
	return asked - n.config.MaxCreates
}
