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

// maxProgress bounds the output of installations that an execution keeps, in bytes.
const maxProgress = 256 << 10

// startWithLayers starts an execution that needs layers: at once when they are there, and
// else once they are made, which the execution waits for in the background.
func (d *dispatcher) startWithLayers(ctx context.Context, s *Handle, needs packages.Layers, st run.Request) error {
	defer d.node.layers.Release(st.Spec.ID) // the sandbox has them by then
	missing, err := d.node.provisioner.missingLayers(needs, st.Spec.ID)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return d.startWaiting(ctx, s, needs, st)
	}
	if err := d.node.provisioner.giveLayers(s, needs); err != nil {
		return err
	}
	st.Phases.Mark("layer")
	return d.startNow(ctx, s, st)
}

// missingLayers returns those that are not there, and keeps the others for the user.
func (p *provisioner) missingLayers(needs packages.Layers, user string) (missing packages.Layers, err error) {
	for _, l := range needs {
		there, err := p.node.layers.Use(l.Digest, user)
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
func (p *provisioner) giveLayers(s *Handle, needs packages.Layers) error {
	s.Gate.RLock()
	defer s.Gate.RUnlock()
	if err := s.CheckRunning(); err != nil {
		return err
	}
	return s.MountLayers(p.node.layers, needs)
}

// install returns when the sandbox can use the layer, or the reason why it cannot.
func (p *provisioner) install(ctx context.Context, s *Handle, l *packages.Layer, tell func(string) error) error {
	return p.node.installer.Install(ctx, packages.Request{User: s.ID(), Template: s.Record.Spec.Template, Layer: l, Quota: &s.installs}, tell)
}

// startWaiting records the execution, and starts it when its packages are installed.
func (d *dispatcher) startWaiting(ctx context.Context, s *Handle, needs packages.Layers, st run.Request) error {
	j, err := d.planWaiting(ctx, s, &st)
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
	waiting, cancel := context.WithCancel(d.node.table.ctx)
	r.CancelInstall.Store(&cancel)
	if err := d.node.table.serve(func() { d.startInstalled(waiting, s, r, needs, j) }); err != nil {
		cancel()
		j.Stdio.Close()
		return s.ForgetStart(r, err)
	}
	return nil
}

// planWaiting returns the job that starts when the packages are installed.
func (d *dispatcher) planWaiting(ctx context.Context, s *Handle, st *run.Request) (j run.Job, err error) {
	switch {
	case kernel.IsFunction(st.Spec):
		st.Spec, err = s.PrepareInvocation(st.Spec)
	case st.Stateful:
		st.Spec, err = d.node.kernels.PrepareCell(s.Sandbox, st.Spec)
	default:
		return d.node.runs.PlanJob(ctx, s.ForRun(), *st)
	}
	cell := st.Spec
	return run.Job{Cell: &cell}, err
}

// startInstalled waits for the layers, and starts the execution or ends it. It leaves it as
// it is when the executor is closed: the next one ends it.
func (d *dispatcher) startInstalled(ctx context.Context, s *Handle, r *run.Run, needs packages.Layers, j run.Job) {
	defer j.Stdio.Close()
	defer func() { (*r.CancelInstall.Swap(nil))() }()
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	d.node.table.goes(func() { // a sandbox that ends needs no layers any more
		select {
		case <-s.Process.Gone:
			stop()
		case <-waiting.Done():
		}
	})
	told := 0
	err := d.node.provisioner.installAll(waiting, s, needs, func(text string) error {
		if told += len(text); told > maxProgress || text == "" {
			return nil
		}
		return r.Log.Append(runlog.Entry{Kind: runlog.Progress, At: time.Now(), Data: []byte(text)})
	})
	if d.node.table.ctx.Err() != nil {
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
	result, err := d.startPrepared(s, r, needs, j)
	switch {
	case d.node.table.ctx.Err() != nil:
	case err != nil:
		r.End(&yurt.Result{ExitCode: 126, Error: &yurt.ExecutionError{Type: yurt.ErrorTypeSandboxFailed, Message: "it could not be started: " + sandbox.Shown(err)}})
	case result != nil:
		r.End(result)
	}
}

// installAll installs the layers that are not there, and returns when the sandbox uses all.
func (p *provisioner) installAll(ctx context.Context, s *Handle, needs packages.Layers, tell func(string) error) error {
	missing, err := p.missingLayers(needs, s.ID())
	if err != nil {
		return err
	}
	for _, l := range missing {
		if err := p.install(ctx, s, l, tell); err != nil {
			return err
		}
	}
	return nil
}

// startPrepared starts an execution whose layers are there. It waits while the sandbox is paused.
func (d *dispatcher) startPrepared(s *Handle, r *run.Run, needs packages.Layers, j run.Job) (*yurt.Result, error) {
	if err := d.node.kernels.UntilStartable(s.Sandbox); err != nil {
		return nil, err
	}
	defer s.Gate.RUnlock()
	if err := s.MountLayers(d.node.layers, needs); err != nil {
		return nil, err
	}
	now := time.Now()
	r.CountFrom(now)
	if err := r.Log.Append(runlog.Entry{Kind: runlog.Progress, At: now}); err != nil {
		return nil, err
	}
	if j.Cell == nil {
		return d.node.runs.TryLaunch(d.node.table.ctx, r, j)
	}
	return nil, d.node.kernels.Submit(s.Sandbox, r)
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
