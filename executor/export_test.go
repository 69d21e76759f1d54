package executor

import (
	"time"

	"github.com/yurtrun/yurt/executor/runlog"
)

// GrantZygotes has a zygote take its time to be ready, as on a slow machine.
func GrantZygotes(e *Executor, timeout time.Duration) { e.starter.GrantZygotes(timeout) }

// Adoptions is how many sandboxes are taken over at the same time.
const Adoptions = adoptions

// LimitAdoption has the init of a sandbox that is taken over answer sooner than it must.
func LimitAdoption(e *Executor, timeout time.Duration) {
	e.adoptTimeout = timeout
	e.runs.LimitAttach(timeout)
}

// Watchers counts those who watch for sandboxes that die.
func Watchers(e *Executor) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.deaths)
}

// BeginClose has the executor in the state in which Close begins, until undo is called. It
// returns what is closed when the slot's keeper has left.
func BeginClose(e *Executor, slot string) (left <-chan struct{}, undo func()) {
	set := func(closed bool) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.closed = closed
	}
	set(true)
	return e.slots.Get(slot).Kept(), func() { set(false) }
}

// SetLogMemory bounds the memory for logs of executions in sandboxes that are there.
func SetLogMemory(e *Executor, limit int64) {
	for _, s := range e.list() {
		s.SetLogMemory(runlog.NewMemory(limit))
	}
}
