package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/runlog"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// adoptRuns goes on with the executions of a sandbox.
func (e *Executor) adoptRuns(s *handle) error {
	entries, err := os.ReadDir(s.Path(sandbox.RunsDir))
	if err != nil {
		return fmt.Errorf("looking for executions: %w", err)
	}
	kernels := newKernelTraces()
	for _, entry := range entries {
		err := e.adoptRun(s, entry.Name(), &kernels)
		if err != nil && e.leaves(s) {
			return err
		}
		if err != nil {
			e.logger.Warn("execution not taken over", "sandbox", s.ID(), "execution", entry.Name(), "error", err)
			_ = runlog.Remove(s.logPlace(entry.Name())) // it goes with the sandbox
		}
	}
	return e.adoptKernels(s, &kernels)
}

// runHistory is what the log of an execution says.
type runHistory struct {
	first, last runlog.Entry
	chunks      uint64 // of output
	trace       cellTrace
	began       time.Time // when its process did, or the packages that it waited for were there
}

func (h *runHistory) note(entry runlog.Entry) {
	switch entry.Kind {
	case runlog.Started:
		h.first = entry
	case runlog.Ended, runlog.Skipped:
	case runlog.Position:
		h.trace.position(entry.At, entry.Data)
	case runlog.Progress:
		if len(entry.Data) == 0 {
			h.began = entry.At
		}
	default:
		h.chunks++
		h.trace.output()
	}
	h.last = entry
}

// adoptRun goes on with one execution where its log ends.
func (e *Executor) adoptRun(s *handle, id string, kernels *kernelTraces) error {
	var history runHistory
	log, err := runlog.Open(s.logPlace(id), history.note)
	if err != nil {
		return err
	}
	var record runRecord
	if err := json.Unmarshal(history.first.Data, &record); err != nil || record.ID != id {
		return errors.Join(errors.New("its log does not begin with its record"), err, log.Close())
	}
	r := newRun(s, record)
	r.log, r.startedAt, r.leaf = log, history.first.At, s.Group.Find(id)
	kernels.note(history.trace.kernel, history.trace.seq)
	switch {
	case history.last.Kind == runlog.Ended:
		return s.adoptEnded(r, history.last)
	case record.Layer != "" && history.began.IsZero():
		return s.endUninstalled(r)
	case record.Cell != nil:
		kernels.cells = append(kernels.cells, s.adoptCell(r, history.trace))
		return nil
	case !history.began.IsZero():
		r.record.Deadline = history.began.Add(record.Timeout.Std())
	}
	return e.adoptProcess(r, history.chunks)
}

// adoptProcess goes on with an execution that is a process of its own, after so many
// chunks of its output.
func (e *Executor) adoptProcess(r *run, chunks uint64) error {
	s := r.sandbox
	if r.stream != nil {
		err := e.askLeft(s, func(ctx context.Context) error { return s.Init.Signal(ctx, r.record.ID, 0) })
		if err != nil && e.leaves(s) {
			return errors.Join(err, r.log.Close())
		}
		if err == nil { // it runs
			e.reclaimLeaf(r)
		}
		s.Lock()
		s.runs[r.record.ID] = r
		s.executions.Add(1)
		s.Unlock()
		e.adoptStream(r)
		return nil
	}
	var out *initd.Output
	err := e.askLeft(s, func(ctx context.Context) (err error) {
		out, err = e.attach(ctx, r, chunks)
		return err
	})
	if err != nil && e.leaves(s) {
		r.closeLogs()
		return errors.Join(err, r.log.Close())
	}
	if failure := new(initd.Failure); errors.As(err, &failure) && failure.Reason == initd.ReasonNotFound {
		// The executor was killed before it had the process started.
		r.clean()
		r.closeLogs()
		return errors.Join(err, r.log.Close())
	}
	e.reclaimLeaf(r)
	s.Lock()
	s.runs[r.record.ID] = r
	s.executions.Add(1)
	s.Unlock()
	if err != nil { // there is no more to be had, and what there is stays
		e.kill(r) // it may have gone on, and nobody would ever hear of it
		r.closeLogs()
		r.end(r.assemble(nil, err))
		return nil
	}
	e.startClock(r)
	e.goes(func() { e.follow(r, out) })
	return nil
}

// reclaimLeaf has the cgroup of a run that did begin, for all that is known, found by its name.
func (e *Executor) reclaimLeaf(r *run) {
	if err := r.sandbox.Group.Reclaim(r.record.ID); err != nil {
		e.logger.Error("an execution was taken over without its cgroup", "execution", r.record.ID, "sandbox", r.sandbox.ID(), "error", err)
	}
}

// attach asks for the output of a run from where it is kept so far: chunks of it are in
// its log.
func (e *Executor) attach(ctx context.Context, r *run, chunks uint64) (*initd.Output, error) {
	after := chunks
	if err := r.openLogs(e.logger); err != nil {
		return nil, err
	}
	if r.logs != nil {
		r.controls, after = chunks, r.logs.After()
	}
	ctx, cancel := context.WithTimeout(ctx, e.adoptTimeout)
	defer cancel()
	out, err := r.sandbox.Init.Attach(ctx, r.record.ID, after)
	if err != nil {
		return nil, err
	}
	r.out.Store(out)
	return out, nil
}

// adoptEnded takes over an execution that has its result.
func (s *handle) adoptEnded(r *run, last runlog.Entry) error {
	result, err := decodeResult(last.Data)
	if err != nil {
		return errors.Join(err, r.log.Close())
	}
	r.result = result
	close(r.done)
	s.Lock()
	s.runs[r.record.ID] = r
	s.Unlock()
	return nil
}
