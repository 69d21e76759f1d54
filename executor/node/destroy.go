package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/executor/statedir"
)

const (
	// teardowns bounds how many sandboxes are removed at the same time.
	teardowns = 8
	// killPatience is how long init may take to end before its cgroup is looked at.
	killPatience = time.Second
	// teardownRetry is the pause before a removal that failed is tried again.
	teardownRetry = 5 * time.Second
	// killTimeout bounds the end of one run whose processes run out of memory again and again.
	killTimeout = 30 * time.Second
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
	_ = os.Remove(s.Path(statedir.Record))
	_ = n.broker.KillInit(s.ID())
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
	if err := sandbox.End(s.Broker, s.ID()); err != nil {
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

// Sandboxes lists every sandbox of this node, including dead ones that were not destroyed yet. Destroyed ones are not
// listed.
func (n *Node) Sandboxes(context.Context) ([]yurt.Sandbox, error) {
	list := n.table.list()
	views := make([]yurt.Sandbox, 0, len(list))
	for _, s := range list {
		if !s.IsEnding() && !s.Record.Installs {
			views = append(views, s.View(n.config.Name))
		}
	}
	return views, nil
}

// WatchSandboxes calls died for each sandbox whose init goes without the sandbox
// having been destroyed, those that are dead already first, until ctx is done.
func (n *Node) WatchSandboxes(ctx context.Context, died func(yurt.Sandbox)) error {
	deaths, leave := n.deaths.watch()
	defer leave()
	for _, s := range n.table.list() {
		if view := s.View(n.config.Name); view.State == yurt.SandboxDead && !s.Record.Installs {
			died(view)
		}
	}
	for {
		select {
		case view := <-deaths:
			died(view)
		case <-ctx.Done():
			return ctx.Err()
		case <-n.table.ctx.Done():
			return yurt.Errorf(yurt.CodeUnavailable, "this node is shutting down")
		}
	}
}

// watchInit notices the end of the sandbox's init.
func (n *Node) watchInit(s *Handle) {
	stop := context.AfterFunc(n.table.ctx, s.Detach)
	defer stop()
	ctx, cancel := context.WithCancel(n.table.ctx)
	defer cancel()
	n.table.goes(func() { s.watchMemory(ctx, n.logger) })
	if s.Process.Wait() == nil {
		close(s.Process.Gone)
		n.died(s, "its init process ended")
	}
}

// watchMemory bounds how often the kernel ends processes of the sandbox for want of memory, until ctx is done.
func (s *Handle) watchMemory(ctx context.Context, logger *slog.Logger) {
	err := s.followShortage(ctx, func(ctx context.Context, run string) {
		ctx, cancel := context.WithTimeout(ctx, killTimeout)
		defer cancel()
		err := s.Broker.KillRun(ctx, s.ID(), run)
		logger.Warn("processes ran out of memory again and again, and were ended together", "sandbox", s.ID(), "execution", run, "error", err)
	})
	if err != nil && !s.IsGone() {
		logger.Error("processes that run out of memory are not counted", "sandbox", s.ID(), "error", err)
	}
}

func (s *Handle) followShortage(ctx context.Context, end func(ctx context.Context, run string)) error {
	alarm, err := s.Broker.WatchMemory(s.ID())
	if err != nil {
		return err
	}
	defer alarm.Close()
	return s.Shortage.Follow(ctx, s.Gauge, alarm, end)
}

// died marks the sandbox dead and tells the watchers, the first time. Its processes end with its init. Its files are removed when its
// owner destroys it. A sandbox without an owner is destroyed here.
func (n *Node) died(s *Handle, why string) {
	s.Lock()
	if s.Ending || s.Dead != "" {
		s.Unlock()
		return
	}
	s.Dead = why
	n.leave(s, "its sandbox died: "+why)
	s.Unlock()
	if words := s.LastWords(); words != "" {
		s.Lock()
		s.Dead += ": " + words
		s.Unlock()
	}
	if s.Record.Installs {
		return // no watcher knows it
	}
	view := s.View(n.config.Name)
	n.logger.Warn("sandbox died", "sandbox", s.ID(), "reason", view.Reason)
	n.deaths.tell(view)
	if !s.IsTaken() {
		_ = n.DestroySandbox(n.table.ctx, s.ID()) // when the node is closed, the next one does
	}
}

// leave is called once when a sandbox is not to be used any more, with its lock held.
func (n *Node) leave(s *Handle, why string) {
	select {
	case <-s.Gone: // it had died, and is being destroyed
		return
	default:
	}
	close(s.Gone)
	if s.adoption != nil {
		s.adoption.cancel()
	}
	n.reserves.Drop(s)
	if s.slot != nil && s.slot.Spec.Once && s.IsTaken() {
		n.slots.End(s.slot, why, false) // before its record is gone, or the next executor would make another
	}
	n.changes.Notify(s.slotID())
}

// deaths tells watchers of sandboxes that are gone though their owners did not ask.
type deaths struct {
	mu       sync.Mutex
	watchers map[chan yurt.Sandbox]struct{}
}

// watch returns a channel that receives each sandbox that dies, until leave is called.
func (d *deaths) watch() (died <-chan yurt.Sandbox, leave func()) {
	watcher := make(chan yurt.Sandbox, 64)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.watchers == nil {
		d.watchers = make(map[chan yurt.Sandbox]struct{})
	}
	d.watchers[watcher] = struct{}{}
	return watcher, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.watchers, watcher)
	}
}

// tell tells the watchers of a sandbox.
func (d *deaths) tell(view yurt.Sandbox) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for watcher := range d.watchers {
		select {
		case watcher <- view:
		default: // a watcher that is so far behind asks for the list
		}
	}
}
