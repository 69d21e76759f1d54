package node

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/kernel"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/runlog"
	"github.com/yurtrun/yurt/executor/sandbox"
)

// maxProgress bounds what an execution keeps of what is said during an installation.
const maxProgress = 256 << 10

// startWithLayers starts an execution that needs layers: at once when they are there, and
// else once they are made, which the execution waits for in the background.
func (n *Node) startWithLayers(ctx context.Context, s *Handle, needs packages.Layers, st run.Request) error {
	defer n.layers.Release(st.Spec.ID) // the sandbox has them by then
	missing, err := n.missingLayers(needs, st.Spec.ID)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return n.startWaiting(ctx, s, needs, st)
	}
	if err := n.giveLayers(s, needs); err != nil {
		return err
	}
	st.Phases.Mark("layer")
	return n.startNow(ctx, s, st)
}

// missingLayers returns those that are not there, and keeps the others for the user.
func (n *Node) missingLayers(needs packages.Layers, user string) (missing packages.Layers, err error) {
	for _, l := range needs {
		there, err := n.layers.Use(l.Digest, user)
		if err != nil {
			return nil, err
		}
		if !there {
			missing = append(missing, l)
		}
	}
	return missing, nil
}

// giveLayers gives the sandbox the layers, unless it is paused.
func (n *Node) giveLayers(s *Handle, needs packages.Layers) error {
	s.Gate.RLock()
	defer s.Gate.RUnlock()
	if err := s.CheckRunning(); err != nil {
		return err
	}
	return s.MountLayers(n.layers, needs)
}

// install returns when the sandbox has the use of the layer, or why there is none.
func (n *Node) install(ctx context.Context, s *Handle, l *packages.Layer, tell func(string) error) error {
	return n.installer.Install(ctx, packages.Request{User: s.ID(), Template: s.Record.Spec.Template, Layer: l, Quota: &s.installs}, tell)
}

// startWaiting records the execution, and starts it when its packages are installed.
func (n *Node) startWaiting(ctx context.Context, s *Handle, needs packages.Layers, st run.Request) error {
	j, err := n.planWaiting(ctx, s, &st)
	if err != nil {
		return err
	}
	j.Layer = needs[0].Digest
	s.Gate.RLock()
	defer s.Gate.RUnlock()
	if err := s.CheckRunning(); err != nil {
		return err
	}
	if j.Stdio, err = st.Stdio.Duplicate(); err != nil {
		return err
	}
	r, err := s.Add(st.Spec, j, st.Phases)
	if err != nil {
		j.Stdio.Close()
		return err
	}
	waiting, cancel := context.WithCancel(n.ctx)
	r.CancelInstall.Store(&cancel)
	if err := n.serve(func() { n.startInstalled(waiting, s, r, needs, j) }); err != nil {
		cancel()
		j.Stdio.Close()
		return s.ForgetStart(r, err)
	}
	return nil
}

// planWaiting says what is to be done when the packages are there.
func (n *Node) planWaiting(ctx context.Context, s *Handle, st *run.Request) (j run.Job, err error) {
	switch {
	case kernel.IsFunction(st.Spec):
		st.Spec, err = s.PrepareInvocation(st.Spec)
	case st.Stateful:
		st.Spec, err = n.kernels.PrepareCell(s.Sandbox, st.Spec)
	default:
		return n.runs.PlanJob(ctx, s.ForRun(), *st)
	}
	cell := st.Spec
	return run.Job{Cell: &cell}, err
}

// startInstalled waits for the layers, and starts the execution or ends it. It leaves it as
// it is when the executor is closed: the next one ends it.
func (n *Node) startInstalled(ctx context.Context, s *Handle, r *run.Run, needs packages.Layers, j run.Job) {
	defer j.Stdio.Close()
	defer func() { (*r.CancelInstall.Swap(nil))() }()
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	n.goes(func() { // a sandbox that ends needs nothing any more
		select {
		case <-s.Process.Gone:
			stop()
		case <-waiting.Done():
		}
	})
	told := 0
	err := n.installAll(waiting, s, needs, func(text string) error {
		if told += len(text); told > maxProgress || text == "" {
			return nil
		}
		return r.Log.Append(runlog.Entry{Kind: runlog.Progress, At: time.Now(), Data: []byte(text)})
	})
	if n.ctx.Err() != nil {
		return
	}
	if err == nil {
		err = ctx.Err() // it was cancelled at the last moment
	}
	if err != nil {
		r.End(notInstalled(r, err, ctx.Err() != nil))
		return
	}
	r.Phases.Mark("install")
	result, err := n.startPrepared(s, r, needs, j)
	switch {
	case n.ctx.Err() != nil:
	case err != nil:
		r.End(&yurt.Result{ExitCode: 126, Error: &yurt.ExecutionError{Type: yurt.ErrorTypeSandboxFailed, Message: "it could not be started: " + sandbox.Shown(err)}})
	case result != nil:
		r.End(result)
	}
}

// installAll installs the layers that are not there, and returns when the sandbox uses all.
func (n *Node) installAll(ctx context.Context, s *Handle, needs packages.Layers, tell func(string) error) error {
	missing, err := n.missingLayers(needs, s.ID())
	if err != nil {
		return err
	}
	for _, l := range missing {
		if err := n.install(ctx, s, l, tell); err != nil {
			return err
		}
	}
	return nil
}

// startPrepared starts an execution whose layers are there. It waits while the sandbox is paused.
func (n *Node) startPrepared(s *Handle, r *run.Run, needs packages.Layers, j run.Job) (*yurt.Result, error) {
	if err := n.kernels.UntilStartable(s.Sandbox); err != nil {
		return nil, err
	}
	defer s.Gate.RUnlock()
	if err := s.MountLayers(n.layers, needs); err != nil {
		return nil, err
	}
	now := time.Now()
	r.CountFrom(now)
	if err := r.Log.Append(runlog.Entry{Kind: runlog.Progress, At: now}); err != nil {
		return nil, err
	}
	if j.Cell == nil {
		return n.runs.TryLaunch(n.ctx, r, j)
	}
	return nil, n.kernels.Submit(s.Sandbox, r)
}

// notInstalled is the result of an execution whose packages are not there.
func notInstalled(r *run.Run, err error, cancelled bool) *yurt.Result {
	result := &yurt.Result{ExitCode: 1, Error: &yurt.ExecutionError{Type: yurt.ErrorTypeDependency, Message: sandbox.Shown(err)}}
	select {
	case <-r.Sandbox.Process.Gone:
		result.ExitCode = yurt.ExecutionExitSignal + int(unix.SIGKILL)
		result.Error = &yurt.ExecutionError{Type: yurt.ErrorTypeSandboxLost, Message: "the sandbox ended while packages were installed"}
		return result
	default:
	}
	if cancelled {
		result.ExitCode = yurt.ExecutionExitSignal + int(unix.SIGINT)
		result.Error = &yurt.ExecutionError{Type: yurt.ErrorTypeInterrupted, Message: "it was cancelled while packages were installed"}
	}
	return result
}
