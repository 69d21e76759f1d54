package protocol

import (
	"slices"
	"time"

	"github.com/yurtrun/yurt"
)

const (
	// noticeAfter is how long a cell waits for its turn before it learns the reason.
	noticeAfter = time.Second
	// maxWait is how long a cell may wait for its turn; those before it have as much time each.
	maxWait = yurt.MaxExecutionTimeout
)

// queued is a cell that waits for its turn.
type queued struct {
	Cell
	timer    *time.Timer // fires when the cell learns the reason of its wait, and again when it has waited too long
	question bool        // it is no execution
}

// enqueue puts a cell behind those that wait. The lock is held, as for all of the queue.
func (c *Context) enqueue(cell Cell) {
	c.queue = append(c.queue, queued{Cell: cell, timer: time.AfterFunc(noticeAfter, func() { c.notice(cell) })})
}

// unheard reports whether the kernel ended before it had read the request of the cell whose turn it
// is: no line of that has run then. A cell begins anew once, as a kernel that cannot start would end
// each time.
func (c *Context) unheard() bool {
	r := c.current
	return r != nil && r.done == nil && !r.timedOut && c.why == "" && c.retried != r.cell.ID() && c.process.Unread()
}

// again puts the cell whose turn it is back, to begin in the next kernel.
func (c *Context) again(r *running) {
	r.stopTimers()
	c.current, c.retried, c.replace = nil, r.cell.ID(), c.replace || r.restarted
	timer := time.AfterFunc(noticeAfter, func() { c.notice(r.cell) })
	c.queue = slices.Insert(c.queue, 0, queued{Cell: r.cell, timer: timer, question: r.question})
	c.note()
}

// dequeue takes the cell at an index out of the queue.
func (c *Context) dequeue(at int) queued {
	q := c.queue[at]
	q.timer.Stop()
	c.queue = slices.Delete(c.queue, at, at+1)
	return q
}

// endQueued ends every cell that waits.
func (c *Context) endQueued(outcome Outcome) {
	for len(c.queue) > 0 {
		c.dequeue(0).End(outcome)
	}
}

// position returns where in the queue the cell of that id is, or -1.
func (c *Context) position(id string) int {
	return slices.IndexFunc(c.queue, func(q queued) bool { return q.ID() == id })
}

// notice tells a cell that still waits for its turn which other one has it.
func (c *Context) notice(cell Cell) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.position(cell.ID())
	if at < 0 || c.left {
		return
	}
	if c.current != nil && !c.current.question {
		cell.Waits(c.current.cell.ID())
	}
	c.queue[at].timer = time.AfterFunc(c.maxWait-noticeAfter, func() { c.giveUp(cell, c.maxWait) })
}

// giveUp ends a cell that has waited for its turn for too long.
func (c *Context) giveUp(cell Cell, waited time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.position(cell.ID()); at >= 0 && !c.left {
		c.dequeue(at).End(Outcome{Overdue: waited})
	}
}
