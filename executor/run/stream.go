package run

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// watcherLimit is how long a streamed run goes on without a watcher. A watcher that
// lost its executor is back sooner.
const watcherLimit = 10 * time.Second

// stream hands the output of a streamed run to its one watcher, at the watcher's
// pace. yurt-init may drop output that was handed over, and the program waits in its next
// write once yurt-init holds as much as it may. Only the end of the output is kept, once
// the run has ended: see tail.
type stream struct {
	events chan yurt.Event // without a buffer: an event that was sent is in the watcher's hands
	resume chan uint64     // for a run that was taken over: the event after which its watcher goes on
	left   chan struct{}   // closed when no watcher came in time
	tail   tail            // for the goroutine that follows the run

	mu      sync.Mutex
	watched bool
	last    uint64 // the event that was handed over last
	timer   *time.Timer
}

// Events of a streamed run are numbered as its chunks are, after the event of its start. So an
// executor that takes the run over knows from a watcher's count the chunk to ask for.
const eventsBeforeOutput = 1

func newStream() *stream {
	return &stream{events: make(chan yurt.Event), resume: make(chan uint64, 1), left: make(chan struct{})}
}

// awaitWatcher ends the run if no watcher comes in time.
func (e *Engine) awaitWatcher(r *Run) {
	st := r.stream
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.watched || r.HasEnded() || e.ctx.Err() != nil {
		return
	}
	st.timer = time.AfterFunc(watcherLimit, func() {
		if e.ctx.Err() == nil && !r.HasEnded() && st.expire() {
			e.kill(r)
		}
	})
}

// leave ends the watcher's turn; the watcher may come back.
func (st *stream) leave() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.watched = false
}

// expire reports whether the run has no watcher, and lets no watcher join from then on.
func (st *stream) expire() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.watched {
		return false
	}
	st.watched = true
	close(st.left)
	return true
}

// join makes the caller the watcher, which has the events up to after.
func (st *stream) join(id string, after uint64) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	switch {
	case st.watched:
		return yurt.Errorf(yurt.CodeExecutionRunning, "execution %s is streamed to one watcher, and has one, or has been ended for want of one", id)
	case st.last > after:
		return yurt.Errorf(yurt.CodeSandboxFailed, "execution %s went on to event %d, and nothing after event %d is kept", id, st.last, after)
	}
	st.watched = true
	if st.timer != nil {
		st.timer.Stop()
	}
	st.last = after
	select {
	case st.resume <- after:
	default: // only the first is waited for
	}
	return nil
}

// hand gives the watcher a chunk, once it takes it.
func (r *Run) hand(ctx context.Context, chunk initd.Chunk) error {
	event := yurt.Event{Seq: chunk.Seq + eventsBeforeOutput, Type: yurt.EventStdout, At: time.Now(), Data: bytes.Clone(chunk.Data)}
	if chunk.Stream == initd.Stderr {
		event.Type = yurt.EventStderr
	}
	select {
	case r.stream.events <- event:
		r.stream.tail.add(initd.Chunk{Seq: chunk.Seq, Stream: chunk.Stream, Data: event.Data})
		return nil
	case <-r.stream.left:
		return nil // it is being killed, for want of a watcher
	case <-r.Sandbox.Gone:
		return errors.New("the sandbox ended before its output was taken")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// watchStream is WatchExecution for a streamed run, which ends soon after its watcher has left.
func (e *Engine) watchStream(ctx context.Context, r *Run, after uint64, each func(yurt.Event) error) error {
	if r.HasEnded() {
		return r.watchTail(after, each)
	}
	if err := r.stream.join(r.Record.ID, after); err != nil {
		return err
	}
	defer func() {
		r.stream.leave()
		e.awaitWatcher(r)
	}()
	if after == 0 {
		after = eventsBeforeOutput
		if err := each(yurt.Event{Seq: after, Type: yurt.EventStarted, At: r.StartedAt}); err != nil {
			return err
		}
	}
	for {
		select {
		case event := <-r.stream.events:
			after = event.Seq
			r.stream.took(after)
			if err := each(event); err != nil {
				return err
			}
		case <-r.done:
			return tellEnd(r, after, each)
		case <-ctx.Done():
			return ctx.Err()
		case <-e.ctx.Done():
			return sandbox.ErrShuttingDown()
		}
	}
}

func (st *stream) took(seq uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.last = seq
}

// adoptStream goes on with a streamed run once its watcher is back, since only the watcher
// knows how far it got. If some of the output is lost, the run is ended.
func (e *Engine) adoptStream(r *Run) {
	e.awaitWatcher(r)
	e.goes(func() {
		var after uint64
		select {
		case after = <-r.stream.resume:
		case <-r.stream.left:
			e.endStream(r, errors.New("nobody came back to watch it"))
			return
		case <-e.ctx.Done():
			return
		}
		out, err := e.attach(e.ctx, r, max(after, eventsBeforeOutput)-eventsBeforeOutput)
		if err != nil {
			e.endStream(r, err)
			return
		}
		e.follow(r, out)
	})
}

// endStream ends a streamed run of which there is no more to be had.
func (e *Engine) endStream(r *Run, reason error) {
	e.kill(r)
	if e.ctx.Err() != nil {
		return // the next executor goes on
	}
	r.End(r.assemble(nil, reason))
	e.tidy(r, r.Sandbox.Init.Forget)
}
