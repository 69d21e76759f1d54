package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/sandbox"
)

const (
	// teardowns bounds how many sandboxes are removed at the same time.
	teardowns = 8
	// killPatience is how long init may take to end before its cgroup is looked at.
	killPatience = time.Second
	// teardownRetry is the pause before a removal that failed is tried again.
	teardownRetry = 5 * time.Second
)

// DestroySandbox ends everything in the sandbox. It is killed at once and removed in
// the background: from here on the node does not know it any more, and a next executor
// goes on with the removal. Executions that run in it end with an error; one that asks
// for their result still gets it. Destroying a sandbox that does not exist is no error.
func (n *Node) DestroySandbox(ctx context.Context, id string) error {
	s, err := n.table.lookUp(id)
	if yurt.CodeOf(err) == yurt.CodeSandboxNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.Lock()
	defer s.Unlock()
	if s.Ending {
		return nil // another caller does it
	}
	if err := n.table.serve(func() { n.teardown(s) }); err != nil {
		return err
	}
	s.Ending = true
	n.leave(s, "its sandbox was destroyed")
	// A sandbox without a record or an init is not adopted again, even if this process ends now. Errors do not matter: a sandbox
	// that has lost both already is removed all the same.
	_ = os.Remove(s.Path(sandbox.RecordFile))
	_ = s.Process.Kill()
	return nil
}

// teardown removes the cgroups and files of a sandbox whose init was killed, and tries again until that succeeds or the executor is
// closed.
func (n *Node) teardown(s *Handle) {
	defer s.Process.Close()
	select {
	case <-s.Process.Gone: // and so is every process of its pid namespace
	case <-time.After(killPatience): // frozen, or stuck in the kernel
	}
	if s.adoption != nil {
		<-s.adoption.done // which comes soon, as the sandbox is gone
	}
	n.teardowns <- struct{}{}
	defer func() { <-n.teardowns }()
	for {
		err := n.remove(s)
		if err == nil {
			close(s.removed)
			return
		}
		n.logger.Error("removing a sandbox", "sandbox", s.ID(), "error", err)
		select {
		case <-time.After(teardownRetry):
		case <-n.table.ctx.Done():
			return
		}
	}
}

// remove ends the last processes of the sandbox, and removes its cgroups and files.
func (n *Node) remove(s *Handle) error {
	if err := sandbox.DestroyGroup(s.Group); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(n.table.ctx, sandbox.DestroyTimeout)
	defer cancel()
	s.WaitAll(ctx) // their output ends with init, so this is short
	n.relinquish(s)
	if err := s.RemoveDirs(); err != nil {
		return err
	}
	n.table.remove(s.ID())
	n.ids.Free(s.Record.IDBase)
	return nil
}

// relinquish releases the descriptors, layers and image of the sandbox.
func (n *Node) relinquish(s *Handle) {
	s.Close()
	n.layers.Release(s.ID())
	n.images.Release(s.ID())
}

// DestroyAll closes every slot, destroys every sandbox of this node and returns when they
// are removed.
func (n *Node) DestroyAll(ctx context.Context) error {
	var closing errgroup.Group
	for _, sl := range n.slots.List() {
		closing.Go(func() error { return n.slotBook.CloseSlot(ctx, sl.Spec.ID) })
	}
	errs := []error{closing.Wait()}
	list := n.table.list()
	for _, s := range list {
		errs = append(errs, n.DestroySandbox(ctx, s.ID()))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, s := range list {
		select {
		case <-s.removed:
		case <-ctx.Done():
			return fmt.Errorf("removing sandbox %s: %w", s.ID(), ctx.Err())
		}
	}
	return nil
}
