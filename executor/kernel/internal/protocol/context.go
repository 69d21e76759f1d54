package protocol

import (
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/initd"
)

const (
	// MaxQueue bounds the executions that wait for their turn in a context.
	MaxQueue = 64
	// InterruptGrace is how long an execution that ran out of time has to yield to the
	// interrupt, before its kernel is killed: code in C, such as a decomposition of a matrix,
	// yields when it returns. Each interruptEvery it is interrupted again, since a signal
	// that comes right before a system call is only noticed after it.
	InterruptGrace = 5 * time.Second
	interruptEvery = time.Second
	// markGrace is how long the marks of a finished execution may take to arrive; user code may have closed the
	// streams that carry them.
	markGrace = 2 * time.Second
	// settleTries times settleEvery is how long the processes of an execution that ran
	// out of time have to end after it.
	settleTries = 25
	settleEvery = 20 * time.Millisecond
	// maxIdle bounds the output of a stream between executions that is kept, in bytes. It belongs to the next execution.
	maxIdle = 64 << 10
)

// ErrClosing says, as an error of [Process.Next] or [Process.Send], that the host lets
// go of the kernel and everything in it goes on.
var ErrClosing = errors.New("the host is shutting down")

// Context is a queue of cells and the kernel that they run in, one after the other.
// Its methods may be called concurrently.
type Context struct {
	start Starter
	goes  func(func()) // runs a goroutine that the owner waits for
	owes  func(bool)

	mu      sync.Mutex
	process Process // nil: no kernel, or not yet
	serving bool    // a goroutine starts or reads a kernel
	replace bool    // the next cell's kernel is in place of one that ended
	owed    bool    // the last argument of owes
	why     string  // the kernel is being killed
	current *running
	queue   []queued
	maxWait time.Duration // of a cell for its turn
	begun   int           // cells of this kernel
	retried string        // the last cell that must not begin anew: it did, or an earlier host asked for it
	rest    *time.Timer   // until the kernel has rested
	resting bool          // it was started, and is not over
	alone   bool          // when last looked at, the kernel was waiting and could start no process
	seq     uint64
	unacked int // cost of the output that was not acknowledged, in bytes
	lines   Lines
	streams [2]scanner
	idle    [2][]byte
	closed  bool // removed: no more cells
	left    bool // the host lets go of it
}

// running is the cell whose turn it is.
type running struct {
	cell       Cell
	question   bool // it is no execution
	done       *Done
	marked     [2]bool
	bytes      [2]int64
	timedOut   bool
	interrupts int       // because of that
	expired    time.Time // when its time was up
	processes  int       // when it began
	settling   bool
	restarted  bool
	timer      *time.Timer
}

func (r *running) stopTimers() {
	r.cell.StopClock()
	if r.timer != nil {
		r.timer.Stop()
	}
}

// New returns a context without a kernel. goes runs a goroutine that the owner of the context waits for. owes is
// called when the context's debt changes: the context is in debt while a cell has yet to report that the kernel of
// earlier cells is gone. The owner keeps the debt for the next host; owes must not call the context. owed is the last
// debt that an earlier host kept.
func New(start Starter, goes func(func()), owes func(bool), owed bool) *Context {
	return &Context{start: start, goes: goes, owes: owes, owed: owed, replace: owed, maxWait: maxWait}
}

// Adopt makes the context go on with a kernel that runs already, whose output up to
// the chunk seq is kept, and with the cells that it had.
func (c *Context) Adopt(process Process, seq uint64, cells []Cell) {
	c.mu.Lock()
	c.process, c.seq, c.serving = process, seq, true
	for _, cell := range cells {
		c.enqueue(cell)
	}
	c.begun = 1         // or more: the kernel is not new
	if len(cells) > 0 { // the kernel may have read it before, and is asked again
		c.retried = cells[0].ID()
	}
	c.advance()
	c.mu.Unlock()
	c.goes(func() { c.serve(process) })
}

// Replaced notes that a kernel of the context is gone, so that the next cell reports it.
func (c *Context) Replaced() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replace = true
	c.note()
}

// note has the owner keep the context's debt. The lock is held.
func (c *Context) note() {
	owed := !c.closed && (c.replace || c.current != nil && c.current.restarted)
	if owed != c.owed {
		c.owed = owed
		c.owes(owed)
	}
}

// Start starts the kernel ahead of its first cell, and returns once it runs or could not be
// started, as it is again for the cell.
func (c *Context) Start() {
	c.mu.Lock()
	if c.serving || c.closed {
		c.mu.Unlock()
		return
	}
	c.serving = true
	c.mu.Unlock()
	process, err := c.start()
	switch {
	case errors.Is(err, ErrClosing):
		c.leave()
	case err == nil:
		c.adoptNew(process)
		c.goes(func() { c.serve(process) })
	case !c.failFirst(err):
		c.goes(func() { c.serve(nil) })
	}
}

// View returns the state of the context.
func (c *Context) View() (state yurt.ContextState, queued, executions int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.current != nil || len(c.queue) > 0:
		state = yurt.ContextBusy
	case c.process != nil && c.why == "":
		state = yurt.ContextIdle
	default:
		state = yurt.ContextStopped
	}
	return state, c.executions(), c.begun
}

// serve starts a kernel, unless it is given one, and reads its output until it ends; it repeats that while cells wait.
func (c *Context) serve(process Process) {
	for {
		if process == nil {
			var err error
			if process, err = c.start(); errors.Is(err, ErrClosing) {
				c.leave()
				return
			} else if err != nil {
				if c.failFirst(err) {
					return
				}
				continue
			}
			c.adoptNew(process)
		}
		exit, err := c.read(process)
		if errors.Is(err, ErrClosing) {
			c.leave()
			return
		}
		last := c.ended(exit, err)
		process.Close()
		process = nil
		if last {
			return
		}
	}
}

// leave lets everything in the kernel go on without this host.
func (c *Context) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = true
	if c.current != nil {
		c.current.stopTimers()
	}
}

// failFirst ends the cell that no kernel could be started for. It reports whether no
// other waits.
func (c *Context) failFirst(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) > 0 {
		c.dequeue(0).End(Outcome{Err: err})
	}
	c.serving = len(c.queue) > 0
	return !c.serving
}

func (c *Context) adoptNew(process Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.process, c.why, c.begun, c.seq, c.unacked, c.alone = process, "", 0, 0, 0, false
	c.lines, c.streams, c.idle = Lines{}, [2]scanner{}, [2][]byte{}
	if c.closed { // meanwhile
		c.end("its context was removed")
	}
	c.advance()
}

// ended handles the end of the kernel. It reports whether no cell waits for another.
func (c *Context) ended(exit *initd.Exit, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	why, unheard := c.why, exit != nil && c.unheard()
	c.process, c.why = nil, ""
	if unheard && !c.current.question {
		c.begun-- // no line of this one ran
	}
	if exit != nil || errors.Is(err, initd.ErrSilent) { // else the sandbox is gone, there will be no other
		c.replace = c.replace || c.begun > 0
		c.note()
	}
	if r := c.current; unheard {
		c.again(r)
	} else if r != nil {
		if !r.question {
			c.flush(r)
		}
		c.finish(Outcome{Done: r.done, Exit: exit, Err: err, StateLost: true, Why: why})
	}
	if exit == nil {
		c.endQueued(Outcome{Err: err})
	}
	c.serving = len(c.queue) > 0
	return !c.serving
}

// advance gives the first cell that waits its turn, when there is a kernel without one.
func (c *Context) advance() {
	for c.current == nil && len(c.queue) > 0 && c.process != nil && c.why == "" {
		next := c.dequeue(0)
		r := &running{cell: next.Cell, question: next.question}
		if c.current = r; !r.question {
			r.restarted, c.replace = c.replace, false
		}
		switch err := c.begin(r); {
		case errors.Is(err, ErrClosing): // the next host finds it begun, and asks
		case err != nil:
			c.finish(Outcome{Err: err, StateLost: true})
			c.end("it could not be asked")
		}
	}
}

// end has the kernel killed in the background. The lock is held, and so there is a
// goroutine that serves, whose owner also waits for this one.
func (c *Context) end(why string) {
	if c.process != nil && c.why == "" && !c.left {
		c.why = why
		c.goes(c.process.Kill)
	}
}

func (c *Context) begin(r *running) error {
	if r.question {
		return c.beginQuestion(r)
	}
	c.begun++
	for i := range c.idle {
		if data := c.idle[i]; len(data) > 0 {
			c.idle[i] = nil
			r.bytes[i] += int64(len(data))
			if err := r.cell.Keep(0, initd.Stream(i+1), data); err != nil {
				return err
			}
		}
	}
	if err := r.cell.Begin(c.process, c.seq); err != nil {
		return err
	}
	var err error
	if r.processes = 1; !c.alone {
		if r.processes, err = c.process.Count(); err != nil {
			return err
		}
	}
	c.alone = false
	if err := c.process.Send(r.cell.Request()); err != nil {
		return err
	}
	r.cell.StartClock(func() { c.expire(r) })
	return nil
}

// expire interrupts a cell that ran out of time, and later kills its kernel.
func (c *Context) expire(r *running) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != r || c.left {
		return
	}
	r.timedOut = true
	if r.expired.IsZero() {
		r.expired = time.Now()
	}
	if r.interrupts++; r.interrupts <= int(InterruptGrace/interruptEvery) && c.process != nil && c.process.Signal(syscall.SIGINT) == nil {
		r.timer = time.AfterFunc(interruptEvery, func() { c.expire(r) })
		return
	}
	c.end("it did not yield when its time was up")
}

// finish ends the current cell.
func (c *Context) finish(outcome Outcome) {
	r := c.current
	c.current = nil
	r.stopTimers()
	outcome.TimedOut, outcome.Restarted, outcome.Bytes = r.timedOut, r.restarted, r.bytes
	if r.timedOut {
		outcome.Yielded = time.Since(r.expired)
	}
	exiting := outcome.Done != nil && outcome.Done.Exiting
	outcome.StateLost = outcome.StateLost || exiting
	r.cell.End(outcome)
	c.note()
	if exiting {
		c.end("it exited")
	}
}
