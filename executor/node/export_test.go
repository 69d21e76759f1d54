package node

import (
	"time"

	"github.com/yurtrun/yurt/executor/runlog"
)

// GrantZygotes has a zygote take its time to be ready, as on a slow machine.
func GrantZygotes(n *Node, timeout time.Duration) { n.starter.GrantZygotes(timeout) }

// Adoptions is how many sandboxes are taken over at the same time.
const Adoptions = adoptions

// LimitAdoption has the init of a sandbox that is taken over answer sooner than it must.
func LimitAdoption(n *Node, timeout time.Duration) {
	n.adopter.timeout = timeout
	n.runs.LimitAttach(timeout)
}

// Watchers counts the calls that watch for sandboxes that die.
func Watchers(n *Node) int {
	n.deaths.mu.Lock()
	defer n.deaths.mu.Unlock()
	return len(n.deaths.watchers)
}

// BeginClose puts the executor into the state in which Close begins, until undo is called. It returns the channel that
// is closed when the slot's keeper has left.
func BeginClose(n *Node, slot string) (left <-chan struct{}, undo func()) {
	set := func(closed bool) {
		n.table.mu.Lock()
		defer n.table.mu.Unlock()
		n.table.closed = closed
	}
	set(true)
	return n.slots.Get(slot).Kept(), func() { set(false) }
}

// SetLogMemory bounds the memory for logs of executions in sandboxes that are there.
func SetLogMemory(n *Node, limit int64) {
	for _, s := range n.table.list() {
		s.SetLogMemory(runlog.NewMemory(limit))
	}
}
