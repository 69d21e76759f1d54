package kernel

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/runlog"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// AdoptRuns goes on with the executions of a sandbox.
func (e *Engine) AdoptRuns(s *Sandbox, by run.Adoption) error {
	entries, err := os.ReadDir(s.Path(sandbox.RunsDir))
	if err != nil {
		return fmt.Errorf("looking for executions: %w", err)
	}
	kernels := newKernelTraces()
	for _, entry := range entries {
		err := e.adoptRun(s, entry.Name(), &kernels, by)
		if err != nil && by.Leaves() {
			return err
		}
		if err != nil {
			e.logger.Warn("execution not taken over", "sandbox", s.ID(), "execution", entry.Name(), "error", err)
			_ = runlog.Remove(s.LogPlace(entry.Name())) // it goes with the sandbox
		}
	}
	return e.adoptKernels(s, &kernels, by)
}

// runHistory summarizes the log of an execution.
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
	case runlog.Ended:
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
func (e *Engine) adoptRun(s *Sandbox, id string, kernels *kernelTraces, by run.Adoption) error {
	read, err := s.ReadLog(e.ctx)
	if err != nil {
		return err
	}
	read = sync.OnceFunc(read)
	defer read()
	var history runHistory
	log, err := runlog.Open(s.LogPlace(id), history.note)
	if err != nil {
		return err
	}
	var record run.Record
	if err := json.Unmarshal(history.first.Data, &record); err != nil || record.ID != id {
		return errors.Join(errors.New("its log does not begin with its record"), err, log.Close())
	}
	r := run.Open(s.ForRun(), record, log, history.first.At)
	kernels.note(history.trace.kernel, history.trace.seq)
	if history.last.Kind == runlog.Ended {
		return s.AdoptEnded(r, history.last)
	}
	read()
	switch {
	case record.Layer != "" && history.began.IsZero():
		return s.endUninstalled(r)
	case record.Cell != nil:
		kernels.cells = append(kernels.cells, s.adoptCell(r, history.trace))
		return nil
	case !history.began.IsZero():
		r.Record.Deadline = history.began.Add(record.Timeout.Std())
	}
	return e.runs.AdoptProcess(r, history.chunks, by)
}

// endUninstalled ends an execution that waited for packages when its executor ended.
func (s *Sandbox) endUninstalled(r *run.Run) error {
	s.Adopt(r)
	_ = s.Plans.RemoveAll(r.Record.ID)
	r.End(&yurt.Result{ExitCode: 1, Error: &yurt.ExecutionError{
		Type: yurt.ErrorTypeDependency, Message: "the node restarted while packages were installed; nothing of the code ran, so run it again",
	}})
	return nil
}
