package protocol

import (
	"errors"
	"fmt"
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

// Process is a kernel's process. Send, Signal and Ack must not wait for it, and every other wait in them is bounded.
// Once the process was killed, Next soon returns its end.
type Process interface {
	// Send gives it a request, whole or not at all.
	Send(request Request) error
	// Next returns the next piece of output, or how the process ended. The data is valid until the call after.
	Next() (initd.Chunk, *initd.Exit, error)
	// Ack says that everything up to a chunk is kept.
	Ack(seq uint64) error
	// Unread reports whether it has ended without reading the request that it was sent last.
	Unread() bool
	// Signal sends a signal to it and its process group.
	Signal(signal syscall.Signal) error
	// Count says how many processes there are, it and all that it started.
	Count() (int, error)
	// Alone reports whether there is no other, and no second thread that could start one.
	Alone() (bool, error)
	// Kill ends it with all of its descendants, and returns when they are gone.
	Kill()
	// Close releases its resources, once Next has returned an exit or an error.
	Close()
}

// Cell is one execution in a context. Its methods are called one at a time, and must
// not call the context.
type Cell interface {
	ID() string
	Request() Request
	// Waits says that its turn has not come for a while, as it is that of the cell behind.
	Waits(behind string)
	// StartClock calls expired when the cell's time is up, unless StopClock comes first.
	StartClock(expired func())
	StopClock()
	// Begin says that its turn has come; its output comes after the chunk seq.
	Begin(process Process, seq uint64) error
	// Keep keeps a piece of its output, which is part of the chunk seq.
	Keep(seq uint64, stream initd.Stream, data []byte) error
	// End is the last call.
	End(outcome Outcome)
}

// Outcome says how a cell ended. Done is set when the kernel said so, Exit when it
// ended before that, Err when neither can be known.
type Outcome struct {
	Done      *Done
	Exit      *initd.Exit
	Err       error
	TimedOut  bool
	Yielded   time.Duration // how long after its time was up it ended
	Cancelled bool          // before its turn
	Overdue   time.Duration // how long it waited for its turn, which was too long; else 0
	Restarted bool          // its kernel was a fresh one in place of another
	StateLost bool          // its kernel is gone
	Why       string
	Bytes     [2]int64 // written to stdout and stderr
}

// Starter starts a kernel. Its error may be [ErrClosing].
type Starter func() (Process, error)

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
