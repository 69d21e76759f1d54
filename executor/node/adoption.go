package node

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

func (n *Node) newAdoption() *adoption {
	a := &adoption{left: n.adoptTimeout, slow: silentAfter, silent: make(chan struct{}), done: make(chan struct{})}
	a.ctx, a.cancel = context.WithCancel(n.ctx)
	a.hush = sync.OnceFunc(func() { close(a.silent) })
	return a
}

// awaitAdoptions returns when all are done but those whose init is silent.
func (n *Node) awaitAdoptions(ctx context.Context, list []*Handle) error {
	for _, s := range list {
		select {
		case <-s.adoption.done:
		case <-s.adoption.silent:
			n.logger.Warn("the init of a sandbox is slow to answer, and the node does not wait for it", "sandbox", s.ID())
		case <-ctx.Done():
			return fmt.Errorf("taking over sandboxes: %w", ctx.Err())
		}
	}
	return nil
}

// takeOver takes over a sandbox that is one of this node's already, or ends it and says why.
func (n *Node) takeOver(s *Handle) {
	a := s.adoption
	defer close(a.done)
	defer a.cancel()
	n.adoptions <- struct{}{}
	defer func() { <-n.adoptions }()
	switch err := n.goOnWith(s); {
	case err == nil:
		n.offer(s)
	case n.leaves(s):
		a.err = sandbox.ErrShuttingDown()
	default:
		n.died(s, "it could not be taken over: "+err.Error())
		_ = s.Process.Kill()
		a.err = s.CheckUsable()
	}
}

// leaves reports whether a sandbox is left to the next executor as it is, so that nothing is to
// be concluded from what its init does not answer.
func (n *Node) leaves(s *Handle) bool { return n.ctx.Err() != nil && !s.IsGone() }

// askLeft asks the init of a sandbox that is taken over for something, as long as it has time
// left for that. Others have their turn meanwhile.
func (n *Node) askLeft(s *Handle, do func(context.Context) error) error {
	a := s.adoption
	<-n.adoptions
	defer func() { n.adoptions <- struct{}{} }()
	ctx, cancel := context.WithTimeout(a.ctx, a.left)
	defer cancel()
	defer time.AfterFunc(a.slow, a.hush).Stop()
	began := time.Now()
	err := do(ctx)
	took := time.Since(began)
	a.left, a.slow = a.left-took, a.slow-took
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("its init did not answer within %s", n.adoptTimeout)
	}
	return err
}

// asking asks the init of a sandbox that is taken over.
type asking struct {
	node    *Node
	sandbox *Handle
}

// Ask implements [asker].
func (a asking) Ask(do func(context.Context) error) error { return a.node.askLeft(a.sandbox, do) }

// Leaves implements [asker].
func (a asking) Leaves() bool { return a.node.leaves(a.sandbox) }

// goOnWith goes on with what there is in a sandbox.
func (n *Node) goOnWith(s *Handle) error {
	if err := n.askLeft(s, s.Init.Ping); err != nil {
		return err
	}
	if err := s.Open(); err != nil {
		return err
	}
	if err := s.AdoptPause(s.adoption.ctx); err != nil {
		return err
	}
	if err := n.starter.EndZygotes(s.adoption.ctx, s.ForStart()); err != nil {
		return err
	}
	return n.kernels.AdoptRuns(s.Sandbox, asking{n, s})
}
