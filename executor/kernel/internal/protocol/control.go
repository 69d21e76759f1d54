package protocol

import "syscall"

// Signal sends a signal to the cell whose turn it is, to everything in the kernel if it
// is SIGKILL; one that waits for its turn is cancelled. A cell that is not there any more is no error.
func (c *Context) Signal(id string, signal syscall.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != nil && c.current.cell.ID() == id {
		if c.process == nil {
			return nil
		}
		if signal == syscall.SIGKILL {
			c.end("the interpreter was killed")
			return nil
		}
		return c.process.Signal(signal)
	}
	if at := c.position(id); at >= 0 {
		c.dequeue(at).End(Outcome{Cancelled: true})
	}
	return nil
}

// Current returns the kernel and the ID of the cell whose turn it is. Without a kernel it returns nil, without a cell "".
func (c *Context) Current() (Process, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		return c.process, ""
	}
	return c.process, c.current.cell.ID()
}

// Restart ends the kernel and the cell that runs in it; waiting cells go on in a new kernel.
func (c *Context) Restart() { c.kill("its context was restarted") }

// Close ends the kernel and every cell.
func (c *Context) Close() {
	c.mu.Lock()
	c.closed = true
	c.endQueued(Outcome{Cancelled: true, Why: "its context was removed"})
	c.note()
	c.mu.Unlock()
	c.kill("its context was removed")
}

// CloseIdle is Close unless a cell runs or waits. It reports whether it closed the context.
func (c *Context) CloseIdle() bool {
	c.mu.Lock()
	if c.current != nil || len(c.queue) > 0 {
		c.mu.Unlock()
		return false
	}
	c.closed = true
	c.note()
	c.mu.Unlock()
	c.kill("its context was removed")
	return true
}

func (c *Context) kill(why string) {
	c.mu.Lock()
	process := c.process
	if process != nil && c.why == "" {
		c.why = why
	}
	c.mu.Unlock()
	if process != nil {
		process.Kill()
	}
}
