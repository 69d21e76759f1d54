package executor

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/kernel"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// StartExecution begins an execution and returns once it runs, or has failed to,
// which its result then says. It goes on when the caller leaves. Errors are about
// the request or the node; what the user's code does is never one.
func (e *Executor) StartExecution(ctx context.Context, sandboxID string, spec yurt.ExecutionSpec) error {
	return e.startExecution(ctx, sandboxID, spec, run.Stdio{})
}

func (e *Executor) startExecution(ctx context.Context, sandboxID string, spec yurt.ExecutionSpec, stdio run.Stdio) (err error) {
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
	stateful, err := e.kernels.KeepsState(ctx, s.Sandbox, spec)
	if err != nil {
		return err
	}
	needs, err := e.planLayers(ctx, s.Base(), spec)
	if err != nil {
		return err
	}
	st := run.Request{Spec: needs.AddTo(spec), OwnEnv: len(spec.Env) > 0, Stateful: stateful, Stdio: stdio, Phases: phases}
	if stateful && s.Installable {
		st.Spec.Env = packages.AddInstalled(st.Spec.Env, s.IsOwnLayer())
	}
	if len(needs) == 0 {
		return e.startNow(ctx, s, st)
	}
	if !kernel.IsFunction(spec) && spec.Kind != yurt.KindCommand {
		st.Layer = needs.Mount()
	}
	return e.startWithLayers(ctx, s, needs, st)
}

func (e *Executor) startNow(ctx context.Context, s *handle, st run.Request) error {
	if kernel.IsFunction(st.Spec) {
		return e.kernels.StartInvocation(s.Sandbox, st.Spec, st.Phases)
	}
	if st.Stateful {
		return e.kernels.StartCell(s.Sandbox, st.Spec, st.Phases)
	}
	if info, may := e.kernels.StaysWarm(ctx, s.Sandbox, st); may {
		if taken, err := e.kernels.StartWarm(s.Sandbox, st, info); err != nil || taken {
			return err
		}
	}
	job, err := e.runs.PlanJob(ctx, s.ForRun(), st)
	if err != nil {
		return err
	}
	job.Stdio = st.Stdio
	st.Phases.Mark("plan")
	s.Gate.RLock()
	defer s.Gate.RUnlock()
	if err := s.CheckRunning(); err != nil {
		return err
	}
	r, err := s.Add(st.Spec, job, st.Phases)
	if err != nil {
		return err
	}
	return e.runs.Launch(ctx, r, job)
}

// WatchExecution calls each with every event after seq, in order, until the ended
// event, ctx is done or each returns an error. Any number may watch, but only one an
// execution that is streamed.
func (e *Executor) WatchExecution(ctx context.Context, sandboxID, executionID string, after uint64, each func(yurt.Event) error) error {
	defer e.processors.Hold()()
	_, r, err := e.findRun(ctx, sandboxID, executionID)
	if err != nil {
		return err
	}
	return e.runs.Watch(ctx, r, after, each)
}

// WaitExecution returns the result once the execution has ended, with all of its output in it.
func (e *Executor) WaitExecution(ctx context.Context, sandboxID, executionID string) (*yurt.Result, error) {
	result, err := e.AwaitExecution(ctx, sandboxID, executionID)
	if err != nil {
		return nil, err
	}
	return result.Whole(ctx)
}

// AwaitExecution returns the result once the execution has ended. Large output is apart from it, and stays
// readable for a while when the sandbox is destroyed.
func (e *Executor) AwaitExecution(ctx context.Context, sandboxID, executionID string) (*yurt.Result, error) {
	defer e.processors.Hold()()
	_, r, err := e.findRun(ctx, sandboxID, executionID)
	if err != nil {
		return nil, err
	}
	return e.runs.Wait(ctx, r)
}

// ForgetExecution releases what the node keeps of an ended execution. One that is
// not known is no error.
func (e *Executor) ForgetExecution(ctx context.Context, sandboxID, executionID string) error {
	_, r, err := e.findRun(ctx, sandboxID, executionID)
	switch yurt.CodeOf(err) {
	case "":
	case yurt.CodeExecutionNotFound, yurt.CodeSandboxNotFound:
		return nil
	default:
		return err
	}
	return r.Forget()
}

// findRun returns an execution that the node knows, and its sandbox.
func (e *Executor) findRun(ctx context.Context, sandboxID, executionID string) (*handle, *run.Run, error) {
	s, err := e.find(ctx, sandboxID)
	if err != nil {
		return nil, nil, err
	}
	r := s.Find(executionID)
	if r == nil {
		return nil, nil, run.NotFound(executionID)
	}
	return s, r, nil
}
