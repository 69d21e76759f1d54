package node

import (
	"context"
	"maps"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/kernel"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/internal/tracing"
)

// dispatcher begins executions.
type dispatcher struct{ node *Node }

// Dispatch begins an execution and returns once it runs, or has failed to, which its result then says. It chooses the way: a
// process, a context, a function or a warm handler, after the layers of dependencies that the execution needs.
func (d *dispatcher) Dispatch(ctx context.Context, sandboxID string, spec yurt.ExecutionSpec, stdio run.Stdio) (err error) {
	defer d.node.processors.Hold()()
	if err := d.node.disks.Check(); err != nil {
		return err
	}
	defer d.node.disks.Explain(&err)
	if !yurt.ValidID(yurt.ExecutionIDPrefix, spec.ID) {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "id", "%q is not an execution id", spec.ID)
	}
	if err := spec.Validate(); err != nil {
		return err
	}
	s, err := d.node.FindUsable(ctx, sandboxID)
	if err != nil {
		return err
	}
	phases := sandbox.NewPhases(ctx)
	stateful, err := d.node.kernels.KeepsState(ctx, s.Sandbox, spec)
	if err != nil {
		return err
	}
	needs, err := d.node.planner.planLayers(ctx, s.Base(), spec)
	if err != nil {
		return err
	}
	st := run.Request{Spec: needs.AddTo(spec), OwnEnv: len(spec.Env) > 0, Stateful: stateful, Stdio: stdio, Phases: phases}
	st.Spec.Env = continueTrace(ctx, st.Spec.Env)
	if stateful && s.Installable {
		st.Spec.Env = packages.AddInstalled(st.Spec.Env, s.IsOwnLayer())
	}
	if len(needs) == 0 {
		return d.startNow(ctx, s, st)
	}
	if !kernel.IsFunction(spec) && spec.Kind != yurt.KindCommand {
		st.Layer = needs.Mount()
	}
	return d.startWithLayers(ctx, s, needs, st)
}

// continueTrace lets a program that is started for the execution continue the trace of the request. Interpreters that wait for
// code have their environment already.
func continueTrace(ctx context.Context, env map[string]string) map[string]string {
	parent := tracing.Parent(ctx)
	if _, given := env[tracing.Variable]; given || parent == "" {
		return env
	}
	env = maps.Clone(env)
	if env == nil {
		env = map[string]string{}
	}
	env[tracing.Variable] = parent
	return env
}

func (d *dispatcher) startNow(ctx context.Context, s *Handle, st run.Request) error {
	if kernel.IsFunction(st.Spec) {
		return d.node.kernels.StartInvocation(s.Sandbox, st.Spec, st.Phases)
	}
	if st.Stateful {
		return d.node.kernels.StartCell(s.Sandbox, st.Spec, st.Phases)
	}
	if info, may := d.node.kernels.StaysWarm(ctx, s.Sandbox, st); may {
		if taken, err := d.node.kernels.StartWarm(s.Sandbox, st, info); err != nil || taken {
			return err
		}
	}
	job, err := d.node.runs.PlanJob(ctx, s.ForRun(), st)
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
	return d.node.runs.Launch(ctx, r, job)
}
