package node

import (
	"context"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/kernel"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// Dispatch begins an execution and returns once it runs, or has failed to, which its result then says. It chooses the way: a
// process, a context, a function or a warm handler, after the layers of dependencies that the execution needs.
func (n *Node) Dispatch(ctx context.Context, sandboxID string, spec yurt.ExecutionSpec, stdio run.Stdio) (err error) {
	defer n.processors.Hold()()
	if err := n.disks.Check(); err != nil {
		return err
	}
	defer n.disks.Explain(&err)
	if !yurt.ValidID(yurt.ExecutionIDPrefix, spec.ID) {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "id", "%q is not an execution id", spec.ID)
	}
	if err := spec.Validate(); err != nil {
		return err
	}
	s, err := n.FindUsable(ctx, sandboxID)
	if err != nil {
		return err
	}
	phases := sandbox.NewPhases()
	stateful, err := n.kernels.KeepsState(ctx, s.Sandbox, spec)
	if err != nil {
		return err
	}
	needs, err := n.planLayers(ctx, s.Base(), spec)
	if err != nil {
		return err
	}
	st := run.Request{Spec: needs.AddTo(spec), OwnEnv: len(spec.Env) > 0, Stateful: stateful, Stdio: stdio, Phases: phases}
	if stateful && s.Installable {
		st.Spec.Env = packages.AddInstalled(st.Spec.Env, s.IsOwnLayer())
	}
	if len(needs) == 0 {
		return n.startNow(ctx, s, st)
	}
	if !kernel.IsFunction(spec) && spec.Kind != yurt.KindCommand {
		st.Layer = needs.Mount()
	}
	return n.startWithLayers(ctx, s, needs, st)
}

func (n *Node) startNow(ctx context.Context, s *Handle, st run.Request) error {
	if kernel.IsFunction(st.Spec) {
		return n.kernels.StartInvocation(s.Sandbox, st.Spec, st.Phases)
	}
	if st.Stateful {
		return n.kernels.StartCell(s.Sandbox, st.Spec, st.Phases)
	}
	if info, may := n.kernels.StaysWarm(ctx, s.Sandbox, st); may {
		if taken, err := n.kernels.StartWarm(s.Sandbox, st, info); err != nil || taken {
			return err
		}
	}
	job, err := n.runs.PlanJob(ctx, s.ForRun(), st)
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
	return n.runs.Launch(ctx, r, job)
}
