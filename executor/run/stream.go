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
// write once yurt-init holds as much as it may. No output is kept: a watcher that lost some
// with its executor is told of the gap, and goes on after it.
type stream struct {
	events chan yurt.Event // without a buffer: an event that was sent is in the watcher's hands
	resume chan uint64     // for a run that was taken over: the event after which its watcher goes on
	left   chan struct{}   // closed when no watcher came in time
	chunks uint64          // that the watcher has had, or has lost; for the goroutine that follows the run

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

// join makes the caller the watcher, which has the events up to after. It returns the number of the last event that was handed over.
func (st *stream) join(id string, after uint64) (last uint64, _ error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.watched {
		return 0, yurt.Errorf(yurt.CodeExecutionRunning, "execution %s is streamed to one watcher, and has one, or has been ended for want of one", id)
	}
	st.watched = true
	if st.timer != nil {
		st.timer.Stop()
	}
	st.last = max(st.last, after)
	select {
	case st.resume <- after:
	default: // only the first is waited for
	}
	return st.last, nil
}

// hand gives the watcher a chunk, once it takes it, and before that the gap of the chunks that are lost.
func (r *Run) hand(ctx context.Context, chunk initd.Chunk) error {
	if lost := chunk.Seq - 1; lost > r.stream.chunks {
		if err := r.stream.send(ctx, r.Sandbox.Gone, gapOf(r.stream.chunks+eventsBeforeOutput, lost+eventsBeforeOutput)); err != nil {
			return err
		}
	}
	event := yurt.Event{Seq: chunk.Seq + eventsBeforeOutput, Type: yurt.EventStdout, At: time.Now(), Data: bytes.Clone(chunk.Data)}
	if chunk.Stream == initd.Stderr {
		event.Type = yurt.EventStderr
	}
	return r.stream.send(ctx, r.Sandbox.Gone, event)
}

// gapOf takes the place of the events after one number up to another.
func gapOf(after, last uint64) yurt.Event {
	return yurt.Event{Seq: last, Type: yurt.EventGap, At: time.Now(), Gap: &yurt.Gap{From: after + 1, To: last}}
}

// send gives the watcher an event of a sandbox that closes gone when it ends.
func (st *stream) send(ctx context.Context, gone <-chan struct{}, event yurt.Event) error {
	select {
	case st.events <- event:
		st.chunks = event.Seq - eventsBeforeOutput
		return nil
	case <-st.left:
		return nil // it is being killed, for want of a watcher
	case <-gone:
		return errors.New("the sandbox ended before its output was taken")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// watchStream is WatchExecution for a streamed run, which ends soon after its watcher has left.
func (e *Engine) watchStream(ctx context.Context, r *Run, after uint64, each func(yurt.Event) error) error {
	if r.HasEnded() {
		return r.tellEnd(ctx, after, each)
	}
	last, err := r.stream.join(r.Record.ID, after)
	if err != nil {
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
	if last > after { // on its way to a watcher that was cut off
		if err := each(gapOf(after, last)); err != nil {
			return err
		}
		after = last
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
			return r.tellEnd(ctx, after, each)
		case <-ctx.Done():
			return ctx.Err()
		case <-e.ctx.Done():
			return sandbox.ErrShuttingDown()
		}
	}
}

// tellEnd tells a watcher, which has the events up to after, which of them are lost, and then of the end.
func (r *Run) tellEnd(ctx context.Context, after uint64, each func(yurt.Event) error) error {
	result, err := r.outcome()
	if err != nil {
		return err
	}
	return result.Replay(ctx, after, each)
}

func (st *stream) took(seq uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.last = seq
}

// adoptStream goes on with a streamed run once its watcher is back, since only the watcher
// knows how far it got.
func (e *Engine) adoptStream(r *Run) {
	e.awaitWatcher(r)
	e.goes(func() {
		defer r.usage.Close()
		var after uint64
		select {
		case after = <-r.stream.resume:
		case <-r.stream.left:
			e.endStream(r, errors.New("its watcher did not come back"))
			return
		case <-e.ctx.Done():
			return
		}
		r.stream.chunks = max(after, eventsBeforeOutput) - eventsBeforeOutput
		out, err := e.attach(e.ctx, r, r.stream.chunks)
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
