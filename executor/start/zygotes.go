package start

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"sync"

	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/sandbox"
)

const (
	// zygoteAfter is how many runs of a language are started in the ordinary way before a
	// zygote is: one that serves no run costs more than it brings.
	zygoteAfter = 2
	// zygoteTries is how many zygotes a sandbox has one after the other at most: code that
	// ends them gets ordinary starts. One that was only too slow does not count.
	zygoteTries = 3
	// zygoteRest is how many times as many runs there have been when another is started after
	// one that was too slow, as they are on a machine that is busy for the moment.
	zygoteRest = 4
	// zygoteRefusals is after how many forks in a row that did not come about a zygote goes.
	zygoteRefusals = 3
)

// zygotes are those of a sandbox, by language.
type zygotes struct {
	parks bool // their forks wait in the leaf of their run, as on cgroup v2
	mu    sync.Mutex
	by    map[string]*zygote
}

// zygote is an interpreter in a sandbox that forks for each run of its language, and has never run code of the user.
// Processes of the same user could trace a zygote while it starts, so it starts only when the sandbox has no such
// process.
type zygote struct {
	served   int    // runs that it could have started
	after    int    // how many of those there are before it is started
	tries    int    // how often it was started, and was not too slow
	number   int    // of the last that was started
	id       string // of its process, in yurt-init; "" before it has started
	refusals int
	late     bool    // the next run was there before it could be started
	next     *parked // the parked fork; nil if no fork is parked
}

// of returns the zygote of the language. The lock is held.
func (z *zygotes) of(language string) *zygote {
	if z.by == nil {
		z.by = make(map[string]*zygote)
	}
	if z.by[language] == nil {
		z.by[language] = &zygote{}
	}
	return z.by[language]
}

// id returns the process from which a run of the language must be forked; "" without a zygote.
func (z *zygotes) id(language string) string {
	if language == "" {
		return ""
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.of(language).id
}

// due notes that a run of the language has ended, and returns the name of the zygote to start now; "" if it is too early.
func (z *zygotes) due(language string, after int) string {
	z.mu.Lock()
	defer z.mu.Unlock()
	one := z.of(language)
	one.served++
	if one.id != "" || one.served < max(after, one.after) || one.tries >= zygoteTries {
		return ""
	}
	return zygoteName(language, one.number+1)
}

// wanted returns the name of the zygote that may be started before a process of the language; ""
// if one is there, there were too many, or the last was too slow a few processes ago: each would
// wait as long for the next.
func (z *zygotes) wanted(language string) string {
	z.mu.Lock()
	defer z.mu.Unlock()
	one := z.of(language)
	if one.id != "" || one.tries >= zygoteTries {
		return ""
	}
	if one.served < one.after {
		one.served++
		return ""
	}
	return zygoteName(language, one.number+1)
}

func zygoteName(language string, number int) string {
	return broker.ZygotePrefix + language + "-" + strconv.Itoa(number)
}

// begun notes that a zygote was started, and with its id that it is ready.
func (z *zygotes) begun(language, id string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	one := z.of(language)
	if id == "" {
		one.tries++
		one.number++
	}
	one.id, one.refusals, one.late = id, 0, false
}

// slow notes that the one that was begun was not ready in time: there is another, later.
func (z *zygotes) slow(language string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	one := z.of(language)
	one.tries--
	one.after = zygoteRest * max(one.served, zygoteAfter)
}

// missed notes that the next run was there before the zygote could be started.
func (z *zygotes) missed(language string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.of(language).late = true
}

// isLate reports whether the zygote was late the last time. A caller that starts each run as soon as the one before
// has ended leaves only that moment to start it.
func (z *zygotes) isLate(language string) bool {
	if language == "" {
		return false
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.of(language).late
}

// ended notes that the zygote is gone, and returns its parked fork.
func (z *zygotes) ended(language, id string) *parked {
	z.mu.Lock()
	defer z.mu.Unlock()
	one := z.of(language)
	if one.id == id {
		one.id = ""
	}
	next := one.next
	if next == nil || next.zygote != id {
		return nil
	}
	one.next = nil
	return next
}

// answered notes whether a fork came about, and reports whether the zygote is to go.
func (z *zygotes) answered(language string, forked bool) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	one := z.of(language)
	if forked {
		one.refusals = 0
		return false
	}
	one.refusals++
	return one.refusals == zygoteRefusals
}

// On cgroup v2 a fork of a zygote is moved into its run's leaf by yurt-init, which waits for the
// whole kernel. So as soon as a zygote is there, and whenever a process is started from it, the
// leaf of the next one is made, and the fork that waits for it is moved there: it is parked.

// parked is the place in which a zygote's fork waits for its run.
type parked struct {
	zygote string
	ready  chan struct{} // closed when place is set
	place  string        // "" if making it failed
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
		place, err := e.parkFork(s, p.zygote)
		if err == nil {
			p.place = place
			return
		}
		s.zygotes.dropParked(language, p)
		e.logger.Debug("no fork for the next execution", "sandbox", s.ID(), "zygote", p.zygote, "error", err)
		if s.zygotes.answered(language, false) {
			e.endZygote(s, language, p.zygote)
		}
	})
}

// parkFork makes a place and has the zygote's fork moved there.
func (e *Engine) parkFork(s *Sandbox, zygote string) (place string, err error) {
	place = zygote + "." + rand.Text() // an executor before this one may have left some
	procs, err := s.Broker.NewPlace(s.ID(), place)
	if err != nil {
		return "", err
	}
	defer procs.Close()
	ctx, cancel := context.WithTimeout(e.ctx, sandbox.InitTimeout)
	defer cancel()
	if err := s.Init.Place(ctx, zygote, procs); err != nil {
		e.discard(s, place)
		return "", err
	}
	return place, nil
}

// parkedFor gives the place of the language's parked fork to the run of that id; nil if no fork is parked. It waits
// for a fork that is being made, as starting a process takes longer.
func (e *Engine) parkedFor(s *Sandbox, language, id string) (broker.Run, *parked) {
	if language == "" || !s.zygotes.parks {
		return broker.Run{}, nil
	}
	p := s.zygotes.takeParked(language)
	if p == nil {
		return broker.Run{}, nil
	}
	<-p.ready
	if p.place == "" {
		return broker.Run{}, nil
	}
	run, err := s.Broker.NewRun(s.ID(), broker.RunRequest{ID: id, Place: p.place})
	if err != nil {
		e.logger.Warn("an execution is not forked", "execution", id, "sandbox", s.ID(), "error", err)
		e.goes(func() { e.discard(s, p.place) })
		return broker.Run{}, nil
	}
	return run, p
}

// discard removes a place that no run will take, and the process that waits in it.
func (e *Engine) discard(s *Sandbox, place string) {
	if s.IsEnding() {
		return // all of it goes
	}
	ctx, cancel := context.WithTimeout(e.ctx, sandbox.DestroyTimeout)
	defer cancel()
	if err := s.Broker.EndPlace(ctx, s.ID(), place); err != nil && e.ctx.Err() == nil {
		e.logger.Error("removing a cgroup", "sandbox", s.ID(), "error", fmt.Errorf("of a fork that was not used: %w", err))
	}
}
