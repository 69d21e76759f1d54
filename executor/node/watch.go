package node

import (
	"context"
	"log/slog"
	"sync"

	"github.com/yurtrun/yurt"
)

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
	err := s.Shortage.Follow(ctx, s.Group, func(leaf string, err error) {
		logger.Warn("processes ran out of memory again and again, and were ended together", "sandbox", s.ID(), "execution", leaf, "error", err)
	})
	if err != nil && !s.IsGone() {
		logger.Error("processes that run out of memory are not counted", "sandbox", s.ID(), "error", err)
	}
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
