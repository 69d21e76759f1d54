package protocol

import "github.com/yurtrun/yurt"

// Submit queues a cell.
func (c *Context) Submit(cell Cell) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.submit(cell)
}

// SubmitIdle queues a cell if there is no other, and reports whether it did.
func (c *Context) SubmitIdle(cell Cell) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.current != nil || len(c.queue) > 0 {
		return false, nil
	}
	err := c.submit(cell)
	return err == nil, err
}

// submit is Submit with the lock held.
func (c *Context) submit(cell Cell) error {
	if err := c.mayQueue(); err != nil {
		return err
	}
	c.enqueue(cell)
	c.goOn()
	return nil
}

// mayQueue says why no more may wait in the context. The lock is held.
func (c *Context) mayQueue() error {
	switch {
	case c.closed:
		return yurt.Errorf(yurt.CodeContextNotFound, "the context was removed just now; try again")
	case c.executions() >= MaxQueue:
		return yurt.Errorf(yurt.CodeOverloaded, "%d executions wait in this context, as many as may; wait for some to end", MaxQueue)
	}
	return nil
}

// goOn starts a kernel for the cells that wait, or gives the first its turn. The lock is held.
func (c *Context) goOn() {
	if !c.serving {
		c.serving = true
		c.goes(func() { c.serve(nil) })
		return
	}
	c.advance()
}
