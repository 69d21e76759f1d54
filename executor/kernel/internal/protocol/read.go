package protocol

import (
	"fmt"
	"time"

	"github.com/yurtrun/yurt/executor/initd"
)

// read takes the kernel's output until the kernel ends.
func (c *Context) read(process Process) (*initd.Exit, error) {
	var broken error
	for {
		chunk, exit, err := process.Next()
		if err != nil || exit != nil {
			if broken != nil {
				err = broken
			}
			return exit, err
		}
		if broken == nil {
			if broken = c.take(process, chunk); broken != nil {
				process.Kill()
			}
		}
		if broken != nil { // it is dead; Next returns its end after its remaining output
			_ = process.Ack(chunk.Seq) // the next Next says why it cannot
		}
	}
}

// take takes one piece of the kernel's output. The error is a breach of the protocol, or a failure to keep the output.
func (c *Context) take(process Process, chunk initd.Chunk) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq = chunk.Seq
	var err error
	if chunk.Stream == initd.Control {
		err = c.takeMessages(chunk)
	} else {
		err = c.takeOutput(chunk)
	}
	if err != nil {
		c.why = "it was ended: " + err.Error()
		return err
	}
	if r := c.current; r != nil && !r.question && r.done != nil && r.marked[0] && r.marked[1] && !r.settling {
		c.settle(r, settleTries)
	}
	return c.acknowledge(process, chunk.Cost())
}

// acknowledge tells yurt-init which output is kept, often enough for the kernel to go on. It also does so when the
// kernel has been idle for a moment, so that little output is repeated after a restart.
func (c *Context) acknowledge(process Process, size int) error {
	c.unacked += size
	if c.unacked < initd.AckEvery {
		if c.current == nil {
			c.startRest()
		}
		return nil
	}
	c.unacked = 0
	if err := process.Ack(c.seq); err != nil {
		return fmt.Errorf("acknowledging output: %w", err)
	}
	return nil
}

func (c *Context) takeMessages(chunk initd.Chunk) error {
	if c.current == nil {
		return c.lines.Skip(chunk.Data)
	}
	if err := c.current.cell.Keep(chunk.Seq, chunk.Stream, chunk.Data); err != nil {
		return err
	}
	return c.lines.Take(chunk.Data, func(m Message) {
		if r := c.current; r != nil && m.Done != nil && m.ID == r.cell.ID() && r.done == nil {
			r.done = m.Done
			r.stopTimers()
			if r.question { // which has no marks
				c.settle(r, settleTries)
				return
			}
			r.timer = time.AfterFunc(markGrace, func() { c.giveUpMarks(r) })
		}
	})
}

// giveUpMarks ends a cell that is done and whose marks did not come.
func (c *Context) giveUpMarks(r *running) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.done != nil && !r.settling {
		c.settle(r, settleTries)
	}
}

// settle ends a cell that is done. A cell that ran out of time may leave no process: its processes get a moment to end
// after the interrupt, then the kernel is killed with them.
func (c *Context) settle(r *running, tries int) {
	if c.current != r || c.left || c.process == nil {
		return
	}
	r.settling = true
	if !r.timedOut || r.question || c.onlyBefore(r) {
		c.finish(Outcome{Done: r.done})
		c.advance()
		return
	}
	if tries == 0 {
		c.end("it left processes behind when its time was up")
		return
	}
	r.stopTimers()
	r.timer = time.AfterFunc(settleEvery, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.settle(r, tries-1)
	})
}

// onlyBefore reports whether no more processes are there than when the cell began.
func (c *Context) onlyBefore(r *running) bool {
	n, err := c.process.Count()
	return err == nil && n <= r.processes
}

func (c *Context) takeOutput(chunk initd.Chunk) error {
	i := int(chunk.Stream - initd.Stdout)
	var failed error
	c.streams[i].scan(chunk.Data, func(text []byte) {
		r := c.current
		if r == nil || r.question || r.marked[i] {
			room := max(maxIdle-len(c.idle[i]), 0)
			c.idle[i] = append(c.idle[i], text[:min(len(text), room)]...)
			return
		}
		r.bytes[i] += int64(len(text))
		if err := r.cell.Keep(chunk.Seq, chunk.Stream, text); err != nil && failed == nil {
			failed = err
		}
	}, func(id string) {
		switch r := c.current; {
		case r == nil: // its cell has ended, and an earlier host kept the output before the mark
			c.idle[i] = nil
		case r.cell.ID() == id:
			r.marked[i] = true
		}
	})
	return failed
}

// flush keeps the output that was held back for a mark that did not come.
func (c *Context) flush(r *running) {
	for i := range c.streams {
		c.streams[i].flush(func(text []byte) {
			r.bytes[i] += int64(len(text))
			_ = r.cell.Keep(c.seq, initd.Stream(i+1), text) // the end says it better
		})
	}
}
