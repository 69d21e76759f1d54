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
	// adoptTimeout bounds how long the init of a sandbox that is adopted may take for its
	// answers, all together. It is generous, since the session of a sandbox that is given up is lost.
	adoptTimeout = time.Minute
	// silentAfter is how much of that the node waits for before it begins without the sandbox.
	silentAfter = time.Second
	// adoptions bounds how many sandboxes are adopted at the same time, beside those whose init is
	// being waited for.
	adoptions = 8
)

// adopter adopts the sandboxes that an earlier executor left.
type adopter struct {
	node    *Node
	timeout time.Duration // for the answers of one init
	places  chan struct{} // holds one for each sandbox that is being adopted, while its init is not waited for
}

func newAdopter(n *Node) *adopter {
	return &adopter{node: n, timeout: adoptTimeout, places: make(chan struct{}, adoptions)}
}

// adoption is the way of one sandbox from an earlier executor to this one. Until it is done only its own goroutine uses
// the sandbox, and others may end it.
type adoption struct {
	ctx    context.Context //nolint:containedctx // it is the adoption's life: done when the sandbox is gone, or the node is closed
	cancel context.CancelFunc
	left   time.Duration // for further answers of init
	slow   time.Duration // for further answers, before init counts as silent
	hush   func()        // closes silent
	silent chan struct{} // closed when the node does not wait for the sandbox any more
	done   chan struct{} // closed when it is over
	err    error         // why it failed; set when it is done
}

func (a *adopter) newAdoption() *adoption {
	one := &adoption{left: a.timeout, slow: silentAfter, silent: make(chan struct{}), done: make(chan struct{})}
	one.ctx, one.cancel = context.WithCancel(a.node.table.ctx)
	one.hush = sync.OnceFunc(func() { close(one.silent) })
	return one
}

// awaitAdoptions returns when all are done but those whose init is silent.
func (a *adopter) awaitAdoptions(ctx context.Context, list []*Handle) error {
	for _, s := range list {
		select {
		case <-s.adoption.done:
		case <-s.adoption.silent:
			a.node.logger.Warn("the init of a sandbox is slow to answer, and the node does not wait for it", "sandbox", s.ID())
		case <-ctx.Done():
			return fmt.Errorf("taking over sandboxes: %w", ctx.Err())
		}
	}
	return nil
}

// adopt adopts a sandbox that is in the table already, or ends it with a reason.
func (a *adopter) adopt(s *Handle) {
	one := s.adoption
	defer close(one.done)
	defer one.cancel()
	a.places <- struct{}{}
	defer func() { <-a.places }()
	switch err := a.goOnWith(s); {
	case err == nil:
		a.node.offer(s)
	case a.leaves(s):
		one.err = sandbox.ErrShuttingDown()
	default:
		a.node.died(s, "it could not be taken over: "+err.Error())
		_ = a.node.broker.KillInit(s.ID())
		one.err = s.CheckUsable()
	}
}

// leaves reports whether a sandbox is left to the next executor as it is. An init that does not answer has no meaning then.
func (a *adopter) leaves(s *Handle) bool { return a.node.table.ctx.Err() != nil && !s.IsGone() }

// ask sends a request to the init of a sandbox, within the time that its adoption has left. Other adoptions go on meanwhile.
func (a *adopter) ask(s *Handle, do func(context.Context) error) error {
	one := s.adoption
	<-a.places
	defer func() { a.places <- struct{}{} }()
	ctx, cancel := context.WithTimeout(one.ctx, one.left)
	defer cancel()
	defer time.AfterFunc(one.slow, one.hush).Stop()
	began := time.Now()
	err := do(ctx)
	took := time.Since(began)
	one.left, one.slow = one.left-took, one.slow-took
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("its init did not answer within %s", a.timeout)
	}
	return err
}

// asking is the adoption of one sandbox, as package run sees it.
type asking struct {
	adopter *adopter
	sandbox *Handle
}

// Ask implements [run.Adoption].
func (a asking) Ask(do func(context.Context) error) error { return a.adopter.ask(a.sandbox, do) }

// Leaves implements [run.Adoption].
func (a asking) Leaves() bool { return a.adopter.leaves(a.sandbox) }

// goOnWith goes on with the pause, the zygotes and the executions of a sandbox.
func (a *adopter) goOnWith(s *Handle) error {
	if err := a.ask(s, s.Init.Ping); err != nil {
		return err
	}
	if err := s.Open(); err != nil {
		return err
	}
	if err := s.AdoptPause(s.adoption.ctx); err != nil {
		return err
	}
	if err := a.node.starter.EndZygotes(s.adoption.ctx, s.ForStart()); err != nil {
		return err
	}
	return a.node.kernels.AdoptRuns(s.Sandbox, asking{a, s})
}
