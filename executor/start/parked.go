package start

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// On cgroup v2 a fork of a zygote is moved into its run's leaf by yurt-init, which waits for the
// whole kernel. So as soon as a zygote is there, and whenever a process is started from it, the
// leaf of the next one is made, and the fork that waits for it is moved there: it is parked.

// parked is the leaf in which a zygote's fork waits for its run.
type parked struct {
	zygote string
	ready  chan struct{} // closed when leaf is set
	leaf   cgroup.Place  // nil if making it failed
}

// newParked returns a fork that is to be parked for the zygote of the language; nil if there is no
// zygote, or a parked fork already.
func (z *zygotes) newParked(language string) *parked {
	z.mu.Lock()
	defer z.mu.Unlock()
	one := z.of(language)
	if one.id == "" || one.next != nil {
		return nil
	}
	one.next = &parked{zygote: one.id, ready: make(chan struct{})}
	return one.next
}

// takeParked returns the parked fork for the language's next process, for the caller alone; nil if no fork is parked.
func (z *zygotes) takeParked(language string) *parked {
	z.mu.Lock()
	defer z.mu.Unlock()
	one := z.of(language)
	next := one.next
	one.next = nil
	return next
}

// dropParked has another be made in its stead.
func (z *zygotes) dropParked(language string, p *parked) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if one := z.of(language); one.next == p {
		one.next = nil
	}
}

// parkNext parks the fork for the language's next process in the background.
func (e *Engine) parkNext(s *Sandbox, language string) {
	if language == "" || !s.zygotes.parks || s.IsPaused() {
		return
	}
	p := s.zygotes.newParked(language)
	if p == nil {
		return
	}
	e.goes(func() {
		defer close(p.ready)
		leaf, err := e.parkFork(s, p.zygote)
		if err == nil {
			p.leaf = leaf
			return
		}
		s.zygotes.dropParked(language, p)
		e.logger.Debug("no fork for the next execution", "sandbox", s.ID(), "zygote", p.zygote, "error", err)
		if s.zygotes.answered(language, false) {
			e.endZygote(s, language, p.zygote)
		}
	})
}

// parkFork makes a leaf and has the zygote's fork moved there.
func (e *Engine) parkFork(s *Sandbox, zygote string) (cgroup.Place, error) {
	leaf, err := s.Group.NewPlace(zygote + "." + rand.Text()) // an executor before this one may have left some
	if err != nil {
		return nil, err
	}
	if err := e.moveFork(s, zygote, leaf); err != nil {
		e.discard(s, leaf)
		return nil, err
	}
	return leaf, nil
}

func (e *Engine) moveFork(s *Sandbox, zygote string, leaf cgroup.Place) error {
	procs, err := leaf.Entry()
	if err != nil {
		return err
	}
	defer procs.Close()
	ctx, cancel := context.WithTimeout(e.ctx, sandbox.InitTimeout)
	defer cancel()
	return s.Init.Place(ctx, zygote, procs)
}

// parkedFor gives the leaf of the language's parked fork to the run of that name; nil if no fork is parked. It waits
// for a fork that is being made, as starting a process takes longer.
func (e *Engine) parkedFor(s *Sandbox, language, name string) *parked {
	if language == "" || !s.zygotes.parks {
		return nil
	}
	p := s.zygotes.takeParked(language)
	if p == nil {
		return nil
	}
	<-p.ready
	if p.leaf == nil {
		return nil
	}
	if err := p.leaf.Take(name); err != nil {
		e.logger.Warn("an execution is not forked", "execution", name, "sandbox", s.ID(), "error", err)
		e.goes(func() { e.discard(s, p.leaf) })
		return nil
	}
	return p
}

// discard removes a leaf that no run will take, and the process that waits in it.
func (e *Engine) discard(s *Sandbox, leaf cgroup.Place) {
	if s.IsEnding() {
		return // all of it goes
	}
	ctx, cancel := context.WithTimeout(e.ctx, sandbox.DestroyTimeout)
	defer cancel()
	if err := leaf.Discard(ctx); err != nil && e.ctx.Err() == nil {
		e.logger.Error("removing a cgroup", "sandbox", s.ID(), "error", fmt.Errorf("of a fork that was not used: %w", err))
	}
}
