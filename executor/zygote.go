package executor

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
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
	"github.com/yurtrun/yurt/plugins"
)

const (
	// zygoteTimeout bounds how long a zygote may take to be ready, and preloadTimeout one that
	// is to import something; nothing else is started in the sandbox meanwhile.
	zygoteTimeout  = 2 * time.Second
	preloadTimeout = 60 * time.Second
)

// forkable returns the language whose zygote can start the job as a fresh interpreter would
// run it, or "". What comes to an interpreter before its first line, its environment above
// all, is the zygote's.
func (e *Executor) forkable(s *handle, st start, j job, info yurt.RuntimeInfo) string {
	spec := st.spec
	switch {
	case !e.forks(s, info), j.plan.Compiles > 0, st.ownEnv, st.layer != s.TemplateLayer(info.Name).Mount():
	case len(spec.Stdin) > 0, spec.StdinOpen, spec.Terminal != nil, spec.User != nil, len(st.stdio.files()) > 0:
	case len(s.Record.Spec.Template.Preload) > 0 && path.Dir(spec.Entry) != ".": // a zygote looks for files of the same names in the directory alone
	default:
		return info.Name
	}
	return ""
}

// forkableKernel is forkable for a kernel. The zygote was told which kernel the template chooses,
// and answers that it cannot be that one where so it is.
func (e *Executor) forkableKernel(s *handle, info yurt.RuntimeInfo) string {
	if !e.forks(s, info) {
		return ""
	}
	return info.Name
}

// ensureZygote starts the zygote of a kernel that is about to start, where it imports ahead what the
// kernel would import itself.
func (e *Executor) ensureZygote(ctx context.Context, s *handle, info yurt.RuntimeInfo) error {
	if !s.ImportsAhead(info.Name) || !e.forks(s, info) {
		return nil
	}
	if _, err := e.templateLayers(ctx, s); err != nil { // the zygote imports from there
		return err
	}
	s.Gate.Lock()
	defer s.Gate.Unlock()
	if id := s.zygotes.wanted(info.Name); id != "" {
		e.startOrForget(s, info.Name, id)
	}
	return nil
}

// forks reports whether zygotes of the runtime can be in the sandbox, in which nothing that
// user code can write may be loaded by a program that starts.
func (e *Executor) forks(s *handle, info yurt.RuntimeInfo) bool {
	template := s.Record.Spec.Template
	return slices.Contains(info.Abilities, plugins.AbilityZygote) && len(s.InstalledLayers(info.Name)) == 0 && !template.Isolation.PerExecution &&
		!changesLoading(s.TemplateEnv(), template.RootFS.HostPaths) && !changesLoading(s.Record.Spec.Env, nil)
}

// changesLoading reports whether the environment could make a program that starts load
// files that are not on the paths, which user code cannot write.
func changesLoading(env map[string]string, paths []string) bool {
	for name, value := range env {
		switch {
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
func (e *Executor) endZygote(s *handle, language, id string) {
	if next := s.zygotes.ended(language, id); next != nil {
		e.goes(func() {
			if <-next.ready; next.leaf != nil {
				e.discard(s, next.leaf)
			}
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), sandbox.DestroyTimeout)
	defer cancel()
	_ = s.Group.Leaf(id).Kill(ctx) // what is left goes with the sandbox
}

// prepareZygote starts a zygote for the language of a run that has ended, when that is due.
func (e *Executor) prepareZygote(r *run) {
	if r.language == "" || e.ctx.Err() != nil {
		return
	}
	after := zygoteAfter
	if r.sandbox.ImportsAhead(r.language) {
		after = 1
	}
	if id := r.sandbox.zygotes.due(r.language, after); id != "" {
		e.addZygote(r.sandbox, r.language, id)
	}
}

// addZygote starts a zygote, unless something is being started, or is there, of the user's.
func (e *Executor) addZygote(s *handle, language, id string) {
	if !s.Gate.TryLock() {
		s.zygotes.missed(language)
		return
	}
	defer s.Gate.Unlock()
	e.startOrForget(s, language, id)
}

// startOrForget is addZygote where the gate is held.
func (e *Executor) startOrForget(s *handle, language, id string) {
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
	e.placeNext(s, language)
	e.goes(func() { e.followZygote(s, language, id, out) })
}

// quiet reports whether no process of the user's is in the sandbox, other zygotes aside.
func (s *handle) quiet() bool {
	found, err := s.Group.Processes()
	if err != nil {
		return false
	}
	for name, pids := range found {
		if len(pids) > 0 && !strings.HasPrefix(name, zygotePrefix) {
			return false
		}
	}
	return true
}

// startZygote starts one and waits until it is ready.
func (e *Executor) startZygote(s *handle, language, id string) (out *initd.Output, err error) {
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
	leaf, err := s.Group.NewLeaf(id)
	if err != nil {
		return nil, err
	}
	defer leaf.Close()
	files, err := leaf.Files()
	if err != nil {
		return nil, err
	}
	defer descriptor.CloseAll(files)
	layer := s.TemplateLayer(language)
	if !s.HasLayers(layer) {
		return nil, errors.New("the packages of the template are not there yet")
	}
	// Nothing that user code can write is a home or a working directory to it.
	home := map[string]string{"HOME": "/nonexistent"}
	out, _, err = s.Init.Start(ctx, initd.StartRequest{
		ID: id, Argv: plan.Argv, Env: s.Environment(s.TemplateEnv(), plan.Env, s.Record.Spec.Env, layer.AddTo(yurt.ExecutionSpec{}).Env, home), Dir: "/",
		UID: rootfs.UserID, GID: rootfs.GroupID, Zygote: true, OutputLimit: maxZygoteOutput,
	}, files)
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

// maxZygoteOutput bounds what is kept of what a zygote writes, which is for the log, in bytes.
const maxZygoteOutput = 4 << 10

// awaitZygote returns when the zygote is ready. What it says before, as modules do when they
// are imported, explains its end.
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
func (e *Executor) followZygote(s *handle, language, id string, out *initd.Output) {
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

// forgetZygote removes what is left of a zygote that was killed.
func (e *Executor) forgetZygote(s *handle, id string) {
	if s.IsEnding() {
		return // all of it goes
	}
	ctx, cancel := context.WithTimeout(e.ctx, sandbox.InitTimeout)
	defer cancel()
	_ = s.Init.Forget(ctx, id)
	_ = s.Plans.RemoveAll(id)
	_ = s.Group.Leaf(id).Remove() // while something of it is there, it goes with the sandbox
}

// endZygotes kills those that an earlier executor started, and their forks that have no run:
// what they were, it knew. In a paused sandbox, where nothing can be killed, they stay unused.
func (e *Executor) endZygotes(ctx context.Context, s *handle) error {
	if s.IsPaused() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sandbox.DestroyTimeout)
	defer cancel()
	found, err := s.Group.Leaves()
	if err != nil {
		return err
	}
	for _, name := range found {
		if !strings.HasPrefix(name, zygotePrefix) {
			continue
		}
		if err := s.Group.Leaf(name).Kill(ctx); err != nil {
			return fmt.Errorf("ending a zygote: %w", err)
		}
		e.forgetZygote(s, name)
	}
	return nil
}
