package protocol

import "time"

// restAfter is how long a kernel is idle before postponed work is done: the caller that has the answer, and its next
// request, come first.
const restAfter = time.Millisecond

// startRest has rested called in a moment. The lock is held.
func (c *Context) startRest() {
	switch {
	case c.resting:
		return
	case c.rest == nil:
		c.rest = time.AfterFunc(restAfter, c.rested)
	default:
		c.rest.Reset(restAfter)
	}
	c.resting = true
}

// rested acknowledges the kernel's output, and prepares in advance work that begin would otherwise do. A cell that has
// begun meanwhile ends in another rest.
func (c *Context) rested() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resting = false
	if c.current != nil || c.process == nil || c.why != "" || c.left {
		return
	}
	c.unacked = 0
	if c.process.Ack(c.seq) != nil {
		return // Next says why it cannot
	}
	alone, err := c.process.Alone()
	c.alone = err == nil && alone
}
