package run

import (
	"context"
	"errors"
	"time"

	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/runlog"
)

// Adoption is how a sandbox is taken over: it bounds the time that init has for its answers.
type Adoption interface {
	// Ask asks init for something, as long as there is time left for that.
	Ask(do func(context.Context) error) error
	// Leaves reports whether the sandbox is left to the next executor as it is, so that a missing
	// answer of its init is no failure.
	Leaves() bool
}

// AdoptProcess goes on with an execution that is a process of its own, after so many
// chunks of its output.
func (e *Engine) AdoptProcess(r *Run, chunks uint64, by Adoption) error {
	s := r.Sandbox
	if r.stream != nil {
		err := by.Ask(func(ctx context.Context) error { return s.Init.Signal(ctx, r.Record.ID, 0) })
		if err != nil && by.Leaves() {
			return errors.Join(err, r.Log.Close())
		}
		if err == nil { // it runs
			e.reclaim(r)
		}
		e.openUsage(r)
		s.Adopt(r)
		e.adoptStream(r)
		return nil
	}
	var out *initd.Output
	err := by.Ask(func(ctx context.Context) (err error) {
		out, err = e.attach(ctx, r, chunks)
		return err
	})
	if err != nil && by.Leaves() {
		r.closeLogs()
		return errors.Join(err, r.Log.Close())
	}
	if failure := new(initd.Failure); errors.As(err, &failure) && failure.Reason == initd.ReasonNotFound {
		// The executor was killed before it had the process started.
		r.clean()
		r.closeLogs()
		return errors.Join(err, r.Log.Close())
	}
	e.reclaim(r)
	e.openUsage(r)
	s.Adopt(r)
	if err != nil { // the output ends here, and the log keeps the part that arrived
		e.kill(r) // it may have gone on, and no executor would report its end
		r.closeLogs()
		r.End(r.assemble(nil, err))
		r.usage.Close()
		return nil
	}
	e.startClock(r)
	e.goes(func() { e.follow(r, out) })
	return nil
}

// reclaim has the cgroup of a run that did begin, for all that is known, found by its name.
func (e *Engine) reclaim(r *Run) {
	if err := r.Sandbox.Broker.NameRun(r.Sandbox.ID(), r.Record.ID); err != nil && !broker.Missing(err) {
		e.logger.Error("an execution was taken over without its cgroup", "execution", r.Record.ID, "sandbox", r.Sandbox.ID(), "error", err)
	}
}

// openUsage opens the usage of a run that an earlier executor began. Without it, the result has no usage.
func (e *Engine) openUsage(r *Run) {
	var err error
	if r.usage, err = r.Sandbox.Broker.OpenRun(r.Sandbox.ID(), r.Record.ID); err != nil && !broker.Missing(err) {
		e.logger.Error("an execution was taken over without its usage", "execution", r.Record.ID, "sandbox", r.Sandbox.ID(), "error", err)
	}
}

// attach asks for the output of a run from where it is kept so far: chunks of it are in
// its log.
func (e *Engine) attach(ctx context.Context, r *Run, chunks uint64) (*initd.Output, error) {
	after := chunks
	if err := r.openLogs(e.logger); err != nil {
		return nil, err
	}
	if r.logs != nil {
		r.controls, after = chunks, r.logs.After()
	}
	ctx, cancel := context.WithTimeout(ctx, e.attachTimeout)
	defer cancel()
	attach := r.Sandbox.Init.Attach
	if r.stream != nil {
		attach = r.Sandbox.Init.AttachBeyond // the watcher may lack chunks that were acknowledged
	}
	out, err := attach(ctx, r.Record.ID, after)
	if err != nil {
		return nil, err
	}
	r.out.Store(out)
	return out, nil
}

// Open returns the handle of an execution that an earlier executor began.
func Open(s *Sandbox, record Record, log *runlog.Log, startedAt time.Time) *Run {
	r := newRun(s, record)
	r.Log, r.StartedAt = log, startedAt
	return r
}

// AdoptEnded takes over an execution that has its result.
func (s *Sandbox) AdoptEnded(r *Run, last runlog.Entry) error {
	result, err := decodeResult(r.Log, last.Data)
	if err != nil {
		return errors.Join(err, r.Log.Close())
	}
	if len(last.Data) <= resultInMemory {
		r.result = result
	}
	close(r.done)
	s.Lock()
	s.runs[r.Record.ID] = r
	s.Unlock()
	return nil
}
