package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/runlog"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// maxRuns bounds the executions that a sandbox knows at once, ended ones that were
// not forgotten included.
const maxRuns = 4096

// StartExecution begins an execution and returns once it runs, or has failed to,
// which its result then says. It goes on when the caller leaves. Errors are about
// the request or the node; what the user's code does is never one.
func (e *Executor) StartExecution(ctx context.Context, sandboxID string, spec yurt.ExecutionSpec) error {
	return e.startExecution(ctx, sandboxID, spec, Stdio{})
}

func (e *Executor) startExecution(ctx context.Context, sandboxID string, spec yurt.ExecutionSpec, stdio Stdio) (err error) {
	defer e.processors.Hold()()
	if err := e.checkDisk(); err != nil {
		return err
	}
	defer e.explainFull(&err)
	if !yurt.ValidID(yurt.ExecutionIDPrefix, spec.ID) {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "id", "%q is not an execution id", spec.ID)
	}
	if err := spec.Validate(); err != nil {
		return err
	}
	s, err := e.find(ctx, sandboxID)
	if err != nil {
		return err
	}
	if err := s.CheckUsable(); err != nil {
		return err
	}
	phases := sandbox.NewPhases()
	stateful, err := e.keepsState(ctx, s, spec)
	if err != nil {
		return err
	}
	needs, err := e.planLayers(ctx, s, spec)
	if err != nil {
		return err
	}
	st := request{spec: needs.AddTo(spec), ownEnv: len(spec.Env) > 0, stateful: stateful, stdio: stdio, phases: phases}
	if stateful && s.Installable {
		st.spec.Env = packages.AddInstalled(st.spec.Env, s.IsOwnLayer())
	}
	if len(needs) == 0 {
		return e.startNow(ctx, s, st)
	}
	if !isFunction(spec) && spec.Kind != yurt.KindCommand {
		st.layer = needs.Mount()
	}
	return e.startWithLayers(ctx, s, needs, st)
}

// request is an execution that is to begin in a sandbox that has what it needs.
type request struct {
	spec     yurt.ExecutionSpec
	ownEnv   bool // it came with an environment
	stateful bool
	layer    string // where the sandbox has the packages for it; "" for none
	stdio    Stdio
	phases   *sandbox.Phases
}

func (e *Executor) startNow(ctx context.Context, s *handle, st request) error {
	if isFunction(st.spec) {
		return e.startInvocation(s, st.spec, st.phases)
	}
	if st.stateful {
		return e.startCell(s, st.spec, st.phases)
	}
	if info, may := e.staysWarm(ctx, s, st); may {
		if taken, err := e.startWarm(s, st, info); err != nil || taken {
			return err
		}
	}
	job, err := e.planJob(ctx, s, st)
	if err != nil {
		return err
	}
	job.stdio = st.stdio
	st.phases.Mark("plan")
	s.Gate.RLock()
	defer s.Gate.RUnlock()
	if err := s.CheckRunning(); err != nil {
		return err
	}
	r, err := s.addRun(st.spec, job, st.phases)
	if err != nil {
		return err
	}
	return e.launchRun(ctx, r, job)
}

// addRun makes the run known and its log, before anything happens inside.
func (s *handle) addRun(spec yurt.ExecutionSpec, j job, phases *sandbox.Phases) (*run, error) {
	r := newRun(s, runRecord{
		Version: records.Version, ID: spec.ID, Kind: spec.Kind, planRecord: j.plan, Limit: spec.OutputLimit,
		Timeout: spec.Timeout, Deadline: time.Now().Add(spec.Timeout.Std()), Cell: j.cell, Layer: j.layer,
		Endless: spec.Endless, Logs: spec.Logs, Streamed: spec.Streamed,
		Installer: installerOf(spec),
	})
	r.phases = phases
	s.Lock()
	defer s.Unlock()
	r.record.PausedBefore = s.Record.PausedFor
	switch {
	case s.Ending || s.Dead != "":
		return nil, yurt.Errorf(yurt.CodeSandboxNotFound, "sandbox %s is gone", s.ID())
	case s.runs[spec.ID] != nil:
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "id", "execution %s exists already", spec.ID)
	case len(s.runs) >= maxRuns:
		return nil, overloaded(retryExecutions, "sandbox %s has %d executions, as many as it may; wait for some to end", s.ID(), maxRuns)
	case s.executions.Load() >= s.maxExecutions:
		return nil, overloaded(retryExecutions, "%d executions run on this node, as many as may; wait for some to end", s.maxExecutions)
	}
	if err := r.openLog(); err != nil {
		return nil, fmt.Errorf("keeping execution %s: %w", spec.ID, err)
	}
	s.runs[spec.ID] = r
	s.executions.Add(1)
	return r, nil
}

// openLog makes the log, whose first entry is the record.
func (r *run) openLog() error {
	record, err := json.Marshal(r.record)
	if err != nil {
		return err
	}
	if r.log, err = runlog.Create(r.place()); err != nil {
		return err
	}
	if err := r.log.Append(runlog.Entry{Kind: runlog.Started, At: r.startedAt, Data: record}); err != nil {
		return errors.Join(err, r.log.Close(), runlog.Remove(r.place()))
	}
	return nil
}

// WatchExecution calls each with every event after seq, in order, until the ended
// event, ctx is done or each returns an error. Any number may watch, but only one an
// execution that is streamed.
func (e *Executor) WatchExecution(ctx context.Context, sandboxID, executionID string, after uint64, each func(yurt.Event) error) error {
	defer e.processors.Hold()()
	r, err := e.findRun(ctx, sandboxID, executionID)
	if err != nil {
		return err
	}
	if r.stream != nil {
		return e.watchStream(ctx, r, after, each)
	}
	events := r.eventReader()
	err = r.log.Follow(ctx, func(entry runlog.Entry) error {
		return events.read(entry, func(event yurt.Event) error {
			if event.Seq <= after {
				return nil
			}
			return each(event)
		})
	})
	if errors.Is(err, runlog.ErrClosed) {
		return notFound(executionID)
	}
	return err
}

// phasesAhead returns what comes before the code of an execution runs.
func (r *run) phasesAhead() (ahead []yurt.Phase) {
	if r.record.Layer != "" {
		ahead = append(ahead, yurt.PhaseInstall)
	}
	if r.record.Compiles > 0 {
		ahead = append(ahead, yurt.PhaseCompile)
	}
	return ahead
}

// WaitExecution returns the result once the execution has ended.
func (e *Executor) WaitExecution(ctx context.Context, sandboxID, executionID string) (*yurt.Result, error) {
	defer e.processors.Hold()()
	r, err := e.findRun(ctx, sandboxID, executionID)
	if err != nil {
		return nil, err
	}
	select {
	case <-r.done:
		return r.result, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-e.ctx.Done():
		return nil, yurt.Errorf(yurt.CodeUnavailable, "this node is shutting down; the execution goes on, ask again")
	}
}

// ForgetExecution releases what the node keeps of an ended execution. One that is
// not known is no error.
func (e *Executor) ForgetExecution(ctx context.Context, sandboxID, executionID string) error {
	r, err := e.findRun(ctx, sandboxID, executionID)
	switch yurt.CodeOf(err) {
	case "":
	case yurt.CodeExecutionNotFound, yurt.CodeSandboxNotFound:
		return nil
	default:
		return err
	}
	select {
	case <-r.done:
	default:
		return yurt.Errorf(yurt.CodeExecutionRunning, "execution %s is still running", executionID)
	}
	r.sandbox.Lock()
	delete(r.sandbox.runs, executionID)
	r.sandbox.Unlock()
	r.log.Close()
	if err := r.removeLog(); err != nil {
		return fmt.Errorf("forgetting execution %s: %w", executionID, err)
	}
	return nil
}

func (e *Executor) findRun(ctx context.Context, sandboxID, executionID string) (*run, error) {
	s, err := e.find(ctx, sandboxID)
	if err != nil {
		return nil, err
	}
	s.Lock()
	defer s.Unlock()
	if r := s.runs[executionID]; r != nil {
		return r, nil
	}
	return nil, notFound(executionID)
}

func notFound(executionID string) error {
	return yurt.Errorf(yurt.CodeExecutionNotFound, "this node knows no execution %s", executionID)
}
