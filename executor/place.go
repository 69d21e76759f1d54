package executor

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// On cgroup v2 a fork of a zygote is moved into its run's leaf by yurt-init, which waits for the
// whole kernel. So as soon as a zygote is there, and whenever a process is started from it, the
// leaf of the next one is made, and the fork that waits for it moved there.

// place is the leaf in which a zygote's fork waits for its run.
type place struct {
	zygote string
	ready  chan struct{} // closed when leaf is set
	leaf   cgroup.Place  // nil if there is none after all
}

// newPlace returns a place to be made for the zygote of the language; nil if there is no zygote,
// or a place already.
func (z *zygotes) newPlace(language string) *place {
	z.mu.Lock()
	defer z.mu.Unlock()
	one := z.of(language)
	if one.id == "" || one.next != nil {
		return nil
	}
	one.next = &place{zygote: one.id, ready: make(chan struct{})}
	return one.next
}

// takePlace returns the place of the language's next process, which is nobody else's then;
// nil if there is none.
func (z *zygotes) takePlace(language string) *place {
	z.mu.Lock()
	defer z.mu.Unlock()
	one := z.of(language)
	next := one.next
	one.next = nil
	return next
}

// dropPlace has another be made in its stead.
func (z *zygotes) dropPlace(language string, p *place) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if one := z.of(language); one.next == p {
		one.next = nil
	}
}

// placeNext makes the place of the language's next process in the background.
func (e *Executor) placeNext(s *handle, language string) {
	if language == "" || !s.zygotes.placed || s.IsPaused() {
		return
	}
	p := s.zygotes.newPlace(language)
	if p == nil {
		return
	}
	e.goes(func() {
		defer close(p.ready)
		leaf, err := e.makePlace(s, p.zygote)
		if err == nil {
			p.leaf = leaf
			return
		}
		s.zygotes.dropPlace(language, p)
		e.logger.Debug("no fork for the next execution", "sandbox", s.ID(), "zygote", p.zygote, "error", err)
		if s.zygotes.answered(language, false) {
			e.endZygote(s, language, p.zygote)
		}
	})
}

// makePlace makes a leaf and has the zygote's fork moved there.
func (e *Executor) makePlace(s *handle, zygote string) (cgroup.Place, error) {
	leaf, err := s.Group.NewPlace(zygote + "." + rand.Text()) // an executor before this one may have left some
	if err != nil {
		return nil, err
	}
	if err := e.enterPlace(s, zygote, leaf); err != nil {
		e.discard(s, leaf)
		return nil, err
	}
	return leaf, nil
}

func (e *Executor) enterPlace(s *handle, zygote string, leaf cgroup.Place) error {
	procs, err := leaf.Entry()
	if err != nil {
		return err
	}
	defer procs.Close()
	ctx, cancel := context.WithTimeout(e.ctx, sandbox.InitTimeout)
	defer cancel()
	return s.Init.Place(ctx, zygote, procs)
}

// placeFor makes the place of the language's next process the leaf of the run of that name; nil
// if there is none. One that is being made is waited for, as a process that is started takes longer.
func (e *Executor) placeFor(s *handle, language, name string) *place {
	if language == "" || !s.zygotes.placed {
		return nil
	}
	p := s.zygotes.takePlace(language)
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

// discard removes a leaf that is to be no run's, and what waits in it.
func (e *Executor) discard(s *handle, leaf cgroup.Place) {
	if s.IsEnding() {
		return // all of it goes
	}
	ctx, cancel := context.WithTimeout(e.ctx, sandbox.DestroyTimeout)
	defer cancel()
	if err := leaf.Discard(ctx); err != nil && e.ctx.Err() == nil {
		e.logger.Error("removing a cgroup", "sandbox", s.ID(), "error", fmt.Errorf("of a fork that was not used: %w", err))
	}
}
