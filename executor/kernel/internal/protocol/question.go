package protocol

import (
	"time"

	"github.com/yurtrun/yurt"
)

// maxQuestions bounds the questions that wait for their turn in a context.
const maxQuestions = 8

// Ask queues a question behind the waiting executions. A question is a cell that is not counted, gets no output, and
// ends when the kernel answers; see [Request.Ask]. A question whose turn has not come after patience ends as overdue.
func (c *Context) Ask(question Cell, patience time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := 0
	for _, q := range c.queue {
		if q.question {
			waiting++
		}
	}
	if waiting >= maxQuestions {
		return yurt.Errorf(yurt.CodeOverloaded, "%d questions wait in this context, as many as may; wait for some to be answered", maxQuestions)
	}
	if err := c.mayQueue(); err != nil {
		return err
	}
	timer := time.AfterFunc(patience, func() { c.giveUp(question, patience) })
	c.queue = append(c.queue, queued{Cell: question, timer: timer, question: true})
	c.goOn()
	return nil
}

// executions returns how many executions wait in the queue. The lock is held.
func (c *Context) executions() int {
	n := 0
	for _, q := range c.queue {
		if !q.question {
			n++
		}
	}
	return n
}

// beginQuestion hands the question over. The lock is held.
func (c *Context) beginQuestion(r *running) error {
	if err := r.cell.Begin(c.process, c.seq); err != nil {
		return err
	}
	c.alone = false
	if err := c.process.Send(r.cell.Request()); err != nil {
		return err
	}
	r.cell.StartClock(func() { c.expire(r) })
	return nil
}
