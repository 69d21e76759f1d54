package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/admission"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/runlog"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// retryExecutions is how long the caller of an execution does best to wait that the node refuses.
const retryExecutions = time.Second

// maxRuns bounds the executions that a sandbox knows at once, ended ones that were
// not forgotten included.
const maxRuns = 4096

// Request is an execution that is to begin in a sandbox. Its files and packages are there.
type Request struct {
	Spec     yurt.ExecutionSpec
	OwnEnv   bool // it came with an environment
	Stateful bool
	Layer    string // directory of the packages in the sandbox; "" without packages
	Stdio    Stdio
	Phases   *sandbox.Phases
}

// Add makes the run known and its log, before anything happens inside.
func (s *Sandbox) Add(spec yurt.ExecutionSpec, j Job, phases *sandbox.Phases) (*Run, error) {
	r := newRun(s, Record{
		Version: records.Version, ID: spec.ID, Kind: spec.Kind, PlanRecord: j.Plan, Limit: spec.OutputLimit,
		Timeout: spec.Timeout, Deadline: time.Now().Add(spec.Timeout.Std()), Cell: j.Cell, Layer: j.Layer,
		Endless: spec.Endless, Logs: spec.Logs, Streamed: spec.Streamed,
		Installer: installerOf(spec),
	})
	r.Phases = phases
	s.Lock()
	defer s.Unlock()
	r.Record.PausedBefore = s.Record.PausedFor
	switch {
	case s.Ending || s.Dead != "":
		return nil, yurt.Errorf(yurt.CodeSandboxNotFound, "sandbox %s is gone", s.ID())
	case s.runs[spec.ID] != nil:
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "id", "execution %s exists already", spec.ID)
	case len(s.runs) >= maxRuns:
		return nil, admission.Overloaded(retryExecutions, "sandbox %s has %d executions, as many as it may; wait for some to end", s.ID(), maxRuns)
	case s.node.Executions.Load() >= s.node.MaxExecutions:
		return nil, admission.Overloaded(retryExecutions, "%d executions run on this node, as many as may; wait for some to end", s.node.MaxExecutions)
	}
	if err := r.openLog(); err != nil {
		return nil, fmt.Errorf("keeping execution %s: %w", spec.ID, err)
	}
	s.runs[spec.ID] = r
	s.node.Executions.Add(1)
	return r, nil
}

// openLog makes the log, whose first entry is the record.
func (r *Run) openLog() error {
	record, err := json.Marshal(r.Record)
	if err != nil {
		return err
	}
	if r.Log, err = runlog.Create(r.place()); err != nil {
		return err
	}
	if err := r.Log.Append(runlog.Entry{Kind: runlog.Started, At: r.StartedAt, Data: record}); err != nil {
		return errors.Join(err, r.Log.Close(), runlog.Remove(r.place()))
	}
	return nil
}

// Watch calls each with the events of the execution after the event of that number.
func (e *Engine) Watch(ctx context.Context, r *Run, after uint64, each func(yurt.Event) error) error {
	if r.stream != nil {
		return e.watchStream(ctx, r, after, each)
	}
	events := r.eventReader()
	err := r.Log.Follow(ctx, func(entry runlog.Entry) error {
		return events.read(entry, func(event yurt.Event) error {
			if event.Seq <= after {
				return nil
			}
			return each(event)
		})
	})
	if errors.Is(err, runlog.ErrClosed) {
		return NotFound(r.Record.ID)
	}
	return err
}

// phasesAhead returns the phases before the code of an execution runs.
func (r *Run) phasesAhead() (ahead []yurt.Phase) {
	if r.Record.Layer != "" {
		ahead = append(ahead, yurt.PhaseInstall)
	}
	if r.Record.Compiles > 0 {
		ahead = append(ahead, yurt.PhaseCompile)
	}
	return ahead
}

// Wait returns the result once the execution has ended. Large output is apart from it.
func (e *Engine) Wait(ctx context.Context, r *Run) (*yurt.Result, error) {
	select {
	case <-r.done:
		return r.outcome()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-e.ctx.Done():
		return nil, yurt.Errorf(yurt.CodeUnavailable, "this node is shutting down; the execution goes on, ask again")
	}
}

// Forget releases the node's part of an execution that has ended.
func (r *Run) Forget() error {
	if !r.HasEnded() {
		return yurt.Errorf(yurt.CodeExecutionRunning, "execution %s is still running", r.Record.ID)
	}
	r.Sandbox.Lock()
	delete(r.Sandbox.runs, r.Record.ID)
	r.Sandbox.Unlock()
	r.Log.Close()
	if err := r.removeLog(); err != nil {
		return fmt.Errorf("forgetting execution %s: %w", r.Record.ID, err)
	}
	return nil
}

// NotFound is the error of a request for an execution that the node does not know.
func NotFound(executionID string) error {
	return yurt.Errorf(yurt.CodeExecutionNotFound, "this node knows no execution %s", executionID)
}
