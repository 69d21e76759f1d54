package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/layers"
	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/runlog"
	"github.com/yurtrun/yurt/internal/linux/openat"
)

const (
	// maxLayers bounds how many layers a sandbox can have.
	maxLayers = 64
	// maxProgress bounds what an execution keeps of what is said during an installation.
	maxProgress = 256 << 10
)

// startWithLayers starts an execution that needs layers: at once when they are there, and
// else once they are made, which the execution waits for in the background.
func (e *Executor) startWithLayers(ctx context.Context, s *sandbox, needs packages.Layers, st start) error {
	defer e.layers.Release(st.spec.ID) // the sandbox has them by then
	missing, err := e.missingLayers(needs, st.spec.ID)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return e.startWaiting(ctx, s, needs, st)
	}
	if err := e.giveLayers(s, needs); err != nil {
		return err
	}
	st.phases.mark("layer")
	return e.startNow(ctx, s, st)
}

// missingLayers returns those that are not there, and keeps the others for the user.
func (e *Executor) missingLayers(needs packages.Layers, user string) (missing packages.Layers, err error) {
	for _, l := range needs {
		there, err := e.layers.Use(l.Digest, user)
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
func (e *Executor) giveLayers(s *sandbox, needs packages.Layers) error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if err := s.running(); err != nil {
		return err
	}
	return e.mountLayers(s, needs)
}

// mountLayers is mountLayer for each.
func (e *Executor) mountLayers(s *sandbox, needs packages.Layers) error {
	for _, l := range needs {
		if err := e.mountLayer(s, l); err != nil {
			return err
		}
	}
	return nil
}

// mountLayer mounts the layer in the sandbox, if it is not. The caller has the gate. That
// the sandbox uses the layer is on the disk first: a next executor is to hold it too.
func (e *Executor) mountLayer(s *sandbox, l *packages.Layer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, mounted := s.mounted[l.Digest]; mounted {
		return nil
	}
	if len(s.mounted) >= maxLayers {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "dependencies", "the session has used %d different lists of packages, as many as it may; put what it needs into one list, or use another session", maxLayers)
	}
	if there, err := e.layers.Use(l.Digest, s.id); err != nil || !there {
		return errors.Join(packages.Removed(), err)
	}
	if !slices.Contains(s.record.Layers, l.Digest) {
		record := s.record
		record.Layers = append(slices.Clone(record.Layers), l.Digest)
		if err := records.Write(s.path(recordFile), record); err != nil {
			return err
		}
		s.record = record
	}
	if _, _, err := s.plans.MakeDir(path.Join("layers", l.Digest), 0o755); err != nil {
		return fmt.Errorf("making the place of a layer: %w", err)
	}
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/mnt", s.record.Init.PID))
	if err != nil {
		return yurt.Errorf(yurt.CodeSandboxFailed, "giving sandbox %s its packages: %w", s.id, err)
	}
	defer namespace.Close()
	if err := layers.Mount(e.layers.Tree(l.Digest), namespace, l.Mount()); err != nil {
		return yurt.Errorf(yurt.CodeSandboxFailed, "giving sandbox %s its packages: %w", s.id, err)
	}
	s.noteMounted(l.Digest)
	return nil
}

// noteMounted is for the holder of s.mu, or before others know the sandbox.
func (s *sandbox) noteMounted(digest string) {
	if s.mounted == nil {
		s.mounted = make(map[string]struct{})
	}
	s.mounted[digest] = struct{}{}
}

// adoptLayers holds the layers of a sandbox that is taken over. One that was written down
// and not mounted yet is mounted when it is needed.
func (e *Executor) adoptLayers(s *sandbox) error {
	for _, digest := range s.record.Layers {
		there, err := e.layers.Use(digest, s.id)
		if err != nil {
			return err
		}
		shown, err := s.shows(path.Join(packages.LayersDir, digest), e.layers.Tree(digest))
		if shown && there && err == nil {
			s.noteMounted(digest)
		}
	}
	return nil
}

// shows reports whether the directory dir of the node is mounted at target in the sandbox, where a directory is.
func (s *sandbox) shows(target, dir string) (bool, error) {
	place, err := openat.Inside(s.record.Init.PID, target, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return false, err
	}
	defer unix.Close(place)
	var inside, outside unix.Stat_t
	if err := unix.Fstat(place, &inside); err != nil {
		return false, err
	}
	return unix.Lstat(dir, &outside) == nil && inside.Dev == outside.Dev && inside.Ino == outside.Ino, nil
}

// install returns when the sandbox has the use of the layer, or why there is none.
func (e *Executor) install(ctx context.Context, s *sandbox, l *packages.Layer, tell func(string) error) error {
	return e.installer.Install(ctx, packages.Request{User: s.id, Template: s.record.Spec.Template, Layer: l, Quota: &s.installs}, tell)
}

// startWaiting records the execution, and starts it when its packages are installed.
func (e *Executor) startWaiting(ctx context.Context, s *sandbox, needs packages.Layers, st start) error {
	j, err := e.planWaiting(ctx, s, &st)
	if err != nil {
		return err
	}
	j.layer = needs[0].Digest
	s.gate.RLock()
	defer s.gate.RUnlock()
	if err := s.running(); err != nil {
		return err
	}
	if j.stdio, err = st.stdio.duplicate(); err != nil {
		return err
	}
	r, err := s.addRun(st.spec, j, st.phases)
	if err != nil {
		j.stdio.close()
		return err
	}
	waiting, cancel := context.WithCancel(e.ctx)
	r.cancel.Store(&cancel)
	if err := e.serve(func() { e.startInstalled(waiting, r, needs, j) }); err != nil {
		cancel()
		j.stdio.close()
		return s.forgetStart(r, err)
	}
	return nil
}

// planWaiting says what is to be done when the packages are there.
func (e *Executor) planWaiting(ctx context.Context, s *sandbox, st *start) (j job, err error) {
	switch {
	case isFunction(st.spec):
		st.spec, err = s.prepareInvocation(st.spec)
	case st.stateful:
		st.spec, err = e.prepareCell(s, st.spec)
	default:
		return e.planJob(ctx, s, *st)
	}
	cell := st.spec
	return job{cell: &cell}, err
}

// startInstalled waits for the layers, and starts the execution or ends it. It leaves it as
// it is when the executor is closed: the next one ends it.
func (e *Executor) startInstalled(ctx context.Context, r *run, needs packages.Layers, j job) {
	s := r.sandbox
	defer j.stdio.close()
	defer func() { (*r.cancel.Swap(nil))() }()
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	e.goes(func() { // a sandbox that ends needs nothing any more
		select {
		case <-s.process.gone:
			stop()
		case <-waiting.Done():
		}
	})
	told := 0
	err := e.installAll(waiting, s, needs, func(text string) error {
		if told += len(text); told > maxProgress || text == "" {
			return nil
		}
		return r.log.Append(runlog.Entry{Kind: runlog.Progress, At: time.Now(), Data: []byte(text)})
	})
	if e.ctx.Err() != nil {
		return
	}
	if err == nil {
		err = ctx.Err() // it was cancelled at the last moment
	}
	if err != nil {
		r.end(r.notInstalled(err, ctx.Err() != nil))
		return
	}
	r.phases.mark("install")
	result, err := e.startPrepared(r, needs, j)
	switch {
	case e.ctx.Err() != nil:
	case err != nil:
		r.end(&yurt.Result{ExitCode: 126, Error: &yurt.ExecutionError{Type: yurt.ErrorTypeSandboxFailed, Message: "it could not be started: " + shown(err)}})
	case result != nil:
		r.end(result)
	}
}

// installAll installs the layers that are not there, and returns when the sandbox uses all.
func (e *Executor) installAll(ctx context.Context, s *sandbox, needs packages.Layers, tell func(string) error) error {
	missing, err := e.missingLayers(needs, s.id)
	if err != nil {
		return err
	}
	for _, l := range missing {
		if err := e.install(ctx, s, l, tell); err != nil {
			return err
		}
	}
	return nil
}

// startPrepared starts an execution whose layers are there. It waits while the sandbox is paused.
func (e *Executor) startPrepared(r *run, needs packages.Layers, j job) (*yurt.Result, error) {
	s := r.sandbox
	if err := e.untilStartable(s); err != nil {
		return nil, err
	}
	defer s.gate.RUnlock()
	if err := e.mountLayers(s, needs); err != nil {
		return nil, err
	}
	now := time.Now()
	r.countFrom(now)
	if err := r.log.Append(runlog.Entry{Kind: runlog.Progress, At: now}); err != nil {
		return nil, err
	}
	if j.cell == nil {
		return e.tryLaunch(e.ctx, r, j)
	}
	c, err := e.contextOf(s, *j.cell)
	if err != nil {
		return nil, err
	}
	return nil, c.Submit(newCell(r))
}

// notInstalled is the result of an execution whose packages are not there.
func (r *run) notInstalled(err error, cancelled bool) *yurt.Result {
	result := &yurt.Result{ExitCode: 1, Error: &yurt.ExecutionError{Type: yurt.ErrorTypeDependency, Message: shown(err)}}
	select {
	case <-r.sandbox.process.gone:
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

// endUninstalled ends an execution that waited for packages when its executor ended.
func (s *sandbox) endUninstalled(r *run) error {
	s.mu.Lock()
	s.runs[r.record.ID] = r
	s.executions.Add(1)
	s.mu.Unlock()
	_ = s.plans.RemoveAll(r.record.ID)
	r.end(&yurt.Result{ExitCode: 1, Error: &yurt.ExecutionError{
		Type: yurt.ErrorTypeDependency, Message: "the node restarted while packages were installed; nothing of the code ran, so run it again",
	}})
	return nil
}
