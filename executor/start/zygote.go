package start

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/plugins"
)

const (
	// zygoteTimeout bounds how long a zygote may take to be ready, and preloadTimeout bounds it for a zygote with
	// imports; no other process starts in the sandbox meanwhile.
	zygoteTimeout  = 2 * time.Second
	preloadTimeout = 60 * time.Second
)

// Forks reports whether the sandbox can have zygotes of the runtime: a starting program must not load any file that
// user code can write.
func (e *Engine) Forks(s *Sandbox, info yurt.RuntimeInfo) bool {
	template := s.Record.Spec.Template
	return slices.Contains(info.Abilities, plugins.AbilityZygote) && len(s.InstalledLayers(info.Name)) == 0 && !template.Isolation.PerExecution &&
		!changesLoading(s.TemplateEnv(), nil, template.RootFS.HostPaths) && !changesLoading(s.Record.Spec.Env, template.Env, nil)
}

// changesLoading reports whether the environment could make a program that starts load
// files that are not on the paths, which user code cannot write. It passes over all that is in known.
func changesLoading(env, known map[string]string, paths []string) bool {
	for name, value := range env {
		switch had, ok := known[name]; {
		case ok && had == value:
		case name == "PYTHONPATH" && allBelow(filepath.SplitList(value), paths):
		case strings.HasPrefix(name, "PYTHON"), strings.HasPrefix(name, "LD_"):
			return true
		}
	}
	return false
}

// allBelow reports whether each file is one of the paths, or below one.
func allBelow(files, paths []string) bool {
	return !slices.ContainsFunc(files, func(file string) bool {
		return path.Clean(file) != file || !slices.ContainsFunc(paths, func(p string) bool { return file == p || strings.HasPrefix(file, p+"/") })
	})
}

// endZygote kills a zygote that does not answer, and the fork that waits for the next run.
func (e *Engine) endZygote(s *Sandbox, language, id string) {
	if next := s.zygotes.ended(language, id); next != nil {
		e.goes(func() {
			if <-next.ready; next.place != "" {
				e.discard(s, next.place)
			}
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), sandbox.DestroyTimeout)
	defer cancel()
	_ = s.Broker.KillRun(ctx, s.ID(), id) // a remaining process goes with the sandbox
}

// PrepareZygote starts a zygote for the language of a run that has ended, when that is due.
func (e *Engine) PrepareZygote(s *Sandbox, language string) {
	if language == "" || e.ctx.Err() != nil {
		return
	}
	after := zygoteAfter
	if s.ImportsAhead(language) {
		after = 1
	}
	if id := s.zygotes.due(language, after); id != "" {
		e.addZygote(s, language, id)
	}
}

// IsZygoteLate reports whether the last zygote of the language could not be started, since the next
// run was there before it.
func (s *Sandbox) IsZygoteLate(language string) bool { return s.zygotes.isLate(language) }

// AddFirstZygote starts the first zygote of the language, unless a process of the user's is in the sandbox.
func (e *Engine) AddFirstZygote(s *Sandbox, language string) {
	e.addZygote(s, language, zygoteName(language, 1))
}

// EnsureZygote starts a zygote of the language if it has none and has not had too many. It waits for the gate.
func (e *Engine) EnsureZygote(s *Sandbox, language string) {
	s.Gate.Lock()
	defer s.Gate.Unlock()
	if id := s.zygotes.wanted(language); id != "" {
		e.startOrForget(s, language, id)
	}
}

// addZygote starts a zygote, unless something is being started, or is there, of the user's.
func (e *Engine) addZygote(s *Sandbox, language, id string) {
	if !s.Gate.TryLock() {
		s.zygotes.missed(language)
		return
	}
	defer s.Gate.Unlock()
	e.startOrForget(s, language, id)
}

// startOrForget is addZygote where the gate is held.
func (e *Engine) startOrForget(s *Sandbox, language, id string) {
	if s.CheckAlive() != nil || s.IsPaused() {
		return
	}
	if !s.quiet() {
		s.zygotes.missed(language)
		return
	}
	s.zygotes.begun(language, "")
	out, err := e.startZygote(s, language, id)
	if err != nil {
		e.logger.Warn("no zygote", "sandbox", s.ID(), "language", language, "error", err)
		if errors.Is(err, context.DeadlineExceeded) {
			s.zygotes.slow(language)
		}
		e.endZygote(s, language, id)
		e.forgetZygote(s, id)
		return
	}
	s.zygotes.begun(language, id)
	e.parkNext(s, language)
	e.goes(func() { e.followZygote(s, language, id, out) })
}

// quiet reports whether no process of the user's is in the sandbox, other zygotes aside.
func (s *Sandbox) quiet() bool {
	found, err := s.Gauge.Processes()
	if err != nil {
		return false
	}
	for name, pids := range found {
		if len(pids) > 0 && !strings.HasPrefix(name, broker.ZygotePrefix) {
			return false
		}
	}
	return true
}

// startZygote starts one and waits until it is ready.
func (e *Engine) startZygote(s *Sandbox, language, id string) (out *initd.Output, err error) {
	timeout, modules := e.zygoteTimeout, s.Preload(language)
	if s.ImportsAhead(language) {
		timeout = preloadTimeout
	}
	ctx, cancel := context.WithTimeout(e.ctx, timeout)
	defer cancel()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("it was not ready within %s: %w: %w", timeout, ctx.Err(), err)
		}
	}()
	info, err := e.runtimes.RuntimeOf(ctx, language)
	if err != nil {
		return nil, err
	}
	tools, err := s.Tools(info)
	if err != nil {
		return nil, err
	}
	plan, err := e.runtimes.PlanZygote(ctx, plugins.KernelRequest{Language: language, Dir: path.Join(rootfs.RunDir, id), Tools: tools, Preload: modules, Kernel: s.Kernel(language)})
	if err != nil {
		return nil, err
	}
	if err := s.WriteFiles(id, plan.Files); err != nil {
		return nil, err
	}
	run, err := s.Broker.NewRun(s.ID(), broker.RunRequest{ID: id})
	if err != nil {
		return nil, err
	}
	defer run.Close()
	if err := s.Broker.NameRun(s.ID(), id); err != nil {
		return nil, err
	}
	layer := s.TemplateLayer(language)
	if !s.HasLayers(layer) {
		return nil, errors.New("the packages of the template are not there yet")
	}
	// User code can write neither to its home nor to its working directory.
	home := map[string]string{"HOME": "/nonexistent"}
	out, _, err = s.Init.Start(ctx, initd.StartRequest{
		ID: id, Argv: plan.Argv, Env: s.Environment(s.TemplateEnv(), plan.Env, s.Record.Spec.Env, layer.AddTo(yurt.ExecutionSpec{}).Env, home), Dir: "/",
		UID: rootfs.UserID, GID: rootfs.GroupID, Zygote: true, OutputLimit: maxZygoteOutput,
	}, run.Birth)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { out.Close() })
	defer stop()
	if err := awaitZygote(out); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// maxZygoteOutput bounds the output of a zygote that is kept for the log, in bytes.
const maxZygoteOutput = 4 << 10

// awaitZygote returns when the zygote is ready. If it ends instead, its output until then, which imported modules may
// print too, explains the end.
func awaitZygote(out *initd.Output) error {
	var said []byte
	for {
		chunk, exit, err := out.Next()
		switch {
		case err != nil:
			return fmt.Errorf("%w; it said %q", err, said)
		case exit != nil:
			return fmt.Errorf("it ended with exit code %d; it said %q", exit.Code, said)
		case chunk.Stream == initd.Stderr:
			said = append(said, chunk.Data...)
			said = said[max(0, len(said)-maxZygoteOutput):]
		case string(chunk.Data) != plugins.ZygoteReady:
			return fmt.Errorf("it answered %.500q", chunk.Data)
		default:
			return nil
		}
	}
}

// followZygote waits for the end of a zygote, or this executor's.
func (e *Engine) followZygote(s *Sandbox, language, id string, out *initd.Output) {
	stop := context.AfterFunc(e.ctx, func() { out.Close() })
	defer stop()
	defer out.Close()
	for {
		_, exit, err := out.Next()
		if e.ctx.Err() != nil {
			return // the next executor ends it
		}
		if exit != nil || err != nil {
			e.endZygote(s, language, id)
			e.forgetZygote(s, id)
			return
		}
	}
}

// forgetZygote removes the record and the leaf of a zygote that was killed.
func (e *Engine) forgetZygote(s *Sandbox, id string) {
	if s.IsEnding() {
		return // all of it goes
	}
	ctx, cancel := context.WithTimeout(e.ctx, sandbox.InitTimeout)
	defer cancel()
	_ = s.Init.Forget(ctx, id)
	_ = s.Plans.RemoveAll(id)
	_ = s.EndRun(id) // a remaining cgroup goes with the sandbox
}

// EndZygotes kills the zygotes that an earlier executor started, and their forks without a run: only that executor
// knew their state. In a paused sandbox, where no process can be killed, they stay unused.
func (e *Engine) EndZygotes(ctx context.Context, s *Sandbox) error {
	if s.IsPaused() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sandbox.DestroyTimeout)
	defer cancel()
	found, err := s.Gauge.Leaves()
	if err != nil {
		return err
	}
	for _, name := range found {
		if !strings.HasPrefix(name, broker.ZygotePrefix) {
			continue
		}
		if err := s.Broker.KillRun(ctx, s.ID(), name); err != nil && !broker.Missing(err) {
			return fmt.Errorf("ending a zygote: %w", err)
		}
		e.forgetZygote(s, name)
	}
	return nil
}
