package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/plugins"
)

const (
	// zygoteAfter is how many runs of a language are started in the ordinary way before a
	// zygote is: one that serves no run costs more than it brings.
	zygoteAfter = 2
	// zygoteTries is how many zygotes a sandbox has one after the other at most: code that
	// ends them gets ordinary starts.
	zygoteTries = 3
	// zygoteRefusals is after how many forks in a row that did not come about a zygote goes.
	zygoteRefusals = 3
	// zygoteTimeout bounds how long a zygote may take to be ready, and preloadTimeout one that
	// is to import something; nothing else is started in the sandbox meanwhile.
	zygoteTimeout  = 2 * time.Second
	preloadTimeout = 20 * time.Second
	zygotePrefix   = "zygote-"
)

// zygotes are those of a sandbox, by language.
type zygotes struct {
	placed bool // their forks wait in the leaf of their run, as on cgroup v2
	mu     sync.Mutex
	by     map[string]*zygote
}

// zygote is an interpreter in a sandbox that forks for each run of its language, and has
// never run anything of the user's. Processes of the same user could trace one while it
// starts, and so it starts when there is none.
type zygote struct {
	served   int    // runs that it could have started
	tries    int    // how often it was started
	id       string // of its process, in yurt-init; "" while there is none
	refusals int
	late     bool   // the next run was there before it could be started
	next     *place // where its next fork waits; nil where none does
}

// of returns the zygote of the language. The lock is held.
func (z *zygotes) of(language string) *zygote {
	if z.by == nil {
		z.by = make(map[string]*zygote)
	}
	if z.by[language] == nil {
		z.by[language] = &zygote{}
	}
	return z.by[language]
}

// id returns the process that a run of the language is to be forked from; "" for none.
func (z *zygotes) id(language string) string {
	if language == "" {
		return ""
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.of(language).id
}

// due notes that a run of the language has ended, and says by what name it is time to start
// a zygote; "" if it is not.
func (z *zygotes) due(language string, after int) string {
	z.mu.Lock()
	defer z.mu.Unlock()
	one := z.of(language)
	one.served++
	if one.id != "" || one.served < after || one.tries >= zygoteTries {
		return ""
	}
	return zygoteName(language, one.tries+1)
}

func zygoteName(language string, number int) string {
	return zygotePrefix + language + "-" + strconv.Itoa(number)
}

// begun notes that a zygote was started, and with its id that it is ready.
func (z *zygotes) begun(language, id string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	one := z.of(language)
	if id == "" {
		one.tries++
	}
	one.id, one.refusals, one.late = id, 0, false
}

// missed notes that the next run was there before the zygote could be started.
func (z *zygotes) missed(language string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.of(language).late = true
}

// isLate reports whether that was so the last time. Whoever starts a run as soon as the one
// before has ended leaves no moment but that.
func (z *zygotes) isLate(language string) bool {
	if language == "" {
		return false
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.of(language).late
}

// ended notes that there is none any more, and returns the place of its next fork.
func (z *zygotes) ended(language, id string) *place {
	z.mu.Lock()
	defer z.mu.Unlock()
	one := z.of(language)
	if one.id == id {
		one.id = ""
	}
	next := one.next
	if next == nil || next.zygote != id {
		return nil
	}
	one.next = nil
	return next
}

// answered notes whether a fork came about, and reports whether the zygote is to go.
func (z *zygotes) answered(language string, forked bool) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	one := z.of(language)
	if forked {
		one.refusals = 0
		return false
	}
	one.refusals++
	return one.refusals == zygoteRefusals
}

// forkable returns the language whose zygote can start the job as a fresh interpreter would
// run it, or "". What comes to an interpreter before its first line, its environment above
// all, is the zygote's.
func (e *Executor) forkable(s *sandbox, st start, j job, info yurt.RuntimeInfo) string {
	spec := st.spec
	switch {
	case !e.forks(s, info), j.plan.Compiles > 0, st.ownEnv, st.layer != s.templateLayer(info.Name).Mount():
	case len(spec.Stdin) > 0, spec.StdinOpen, spec.Terminal != nil, spec.User != nil, len(st.stdio.files()) > 0:
	case len(s.record.Spec.Template.Preload) > 0 && path.Dir(spec.Entry) != ".": // a zygote looks for files of the same names in the directory alone
	default:
		return info.Name
	}
	return ""
}

// forkableKernel is forkable for a kernel, which is the runtime's own. Where modules were imported
// ahead a kernel begins without them: executions in it may bring other versions.
func (e *Executor) forkableKernel(s *sandbox, info yurt.RuntimeInfo) string {
	if len(s.record.Spec.Template.Preload) > 0 || s.kernel(info.Name) != "" || !e.forks(s, info) {
		return ""
	}
	return info.Name
}

// forks reports whether zygotes of the runtime can be in the sandbox, in which nothing that
// user code can write may be loaded by a program that starts.
func (e *Executor) forks(s *sandbox, info yurt.RuntimeInfo) bool {
	template := s.record.Spec.Template
	return slices.Contains(info.Abilities, plugins.AbilityZygote) && !template.Isolation.PerExecution &&
		!changesLoading(s.templateEnv(), template.RootFS.HostPaths) && !changesLoading(s.record.Spec.Env, nil)
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

// starting is a process that is to be started, in a leaf of its own.
type starting struct {
	initd.StartRequest

	given    []*os.File // what the request says comes along
	language string     // whose zygote may fork the process; "" for none
	newLeaf  func(name string) (cgroup.Leaf, error)
	leaf     *cgroup.Leaf // is made the leaf before the process can be there
}

// startProcess has init start a process: by a fork of the language's zygote, if there is one, or
// else in the ordinary way.
func (e *Executor) startProcess(ctx context.Context, s *sandbox, st starting) (*initd.Output, error) {
	defer e.placeNext(s, st.language)
	if p := e.placeFor(s, st.language, st.ID); p != nil {
		*st.leaf, st.From = p.leaf, p.zygote
		out, err := s.startIn(ctx, p.leaf, st)
		if !e.refused(s, st, err) {
			return out, err
		}
		e.goes(func() { e.discard(s, p.leaf) })
	}
	leaf, err := st.newLeaf(st.ID)
	if err != nil {
		return nil, err
	}
	if *st.leaf, st.From = leaf, ""; !s.zygotes.placed {
		st.From = s.zygotes.id(st.language)
	}
	out, err := s.startIn(ctx, leaf, st)
	if st.From != "" && e.refused(s, st, err) {
		st.From = ""
		out, err = s.startIn(ctx, leaf, st)
	}
	return out, err
}

// startIn has init start a process in the leaf. Meanwhile that gets its name.
func (s *sandbox) startIn(ctx context.Context, leaf cgroup.Leaf, st starting) (*initd.Output, error) {
	files, err := leaf.Files()
	if err != nil {
		return nil, err
	}
	defer closeAll(files)
	out, _, err := s.init.StartWhile(ctx, st.StartRequest, slices.Concat(st.given, files), leaf.Name)
	return out, err
}

// refused notes whether a fork came about, by the answer of init, and reports whether it did not.
func (e *Executor) refused(s *sandbox, st starting, err error) bool {
	failure := new(initd.Failure)
	refused := errors.As(err, &failure) && failure.Reason == initd.ReasonNoFork
	if s.zygotes.answered(st.language, !refused) {
		e.endZygote(s, st.language, st.From)
	}
	return refused
}

// endZygote kills a zygote that does not answer, and the fork that waits for the next run.
func (e *Executor) endZygote(s *sandbox, language, id string) {
	if next := s.zygotes.ended(language, id); next != nil {
		e.goes(func() {
			if <-next.ready; next.leaf != nil {
				e.discard(s, next.leaf)
			}
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), destroyTimeout)
	defer cancel()
	_ = s.group.Leaf(id).Kill(ctx) // what is left goes with the sandbox
}

// prepareZygote starts a zygote for the language of a run that has ended, when that is due.
func (e *Executor) prepareZygote(r *run) {
	if r.language == "" || e.ctx.Err() != nil {
		return
	}
	after := zygoteAfter
	if len(r.sandbox.preload(r.language)) > 0 {
		after = 1
	}
	if id := r.sandbox.zygotes.due(r.language, after); id != "" {
		e.addZygote(r.sandbox, r.language, id)
	}
}

// addZygote starts a zygote, unless something is being started, or is there, of the user's.
func (e *Executor) addZygote(s *sandbox, language, id string) {
	if !s.gate.TryLock() {
		s.zygotes.missed(language)
		return
	}
	defer s.gate.Unlock()
	if s.lives() != nil || s.paused() {
		return
	}
	if !s.quiet() {
		s.zygotes.missed(language)
		return
	}
	s.zygotes.begun(language, "")
	out, err := e.startZygote(s, language, id)
	if err != nil {
		e.logger.Warn("no zygote", "sandbox", s.id, "language", language, "error", err)
		e.endZygote(s, language, id)
		e.forgetZygote(s, id)
		return
	}
	s.zygotes.begun(language, id)
	e.placeNext(s, language)
	e.goes(func() { e.followZygote(s, language, id, out) })
}

// quiet reports whether no process of the user's is in the sandbox, other zygotes aside.
func (s *sandbox) quiet() bool {
	found, err := s.group.Processes()
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
func (e *Executor) startZygote(s *sandbox, language, id string) (out *initd.Output, err error) {
	timeout, modules := e.zygoteTimeout, s.preload(language)
	if len(modules) > 0 {
		timeout = preloadTimeout
	}
	ctx, cancel := context.WithTimeout(e.ctx, timeout)
	defer cancel()
	info, err := e.runtimes.RuntimeOf(ctx, language)
	if err != nil {
		return nil, err
	}
	tools, err := s.tools(info)
	if err != nil {
		return nil, err
	}
	plan, err := e.runtimes.PlanZygote(ctx, plugins.KernelRequest{Language: language, Dir: path.Join(rootfs.RunDir, id), Tools: tools, Preload: modules})
	if err != nil {
		return nil, err
	}
	if err := s.writeFiles(id, plan.Files); err != nil {
		return nil, err
	}
	leaf, err := s.group.NewLeaf(id)
	if err != nil {
		return nil, err
	}
	defer leaf.Close()
	files, err := leaf.Files()
	if err != nil {
		return nil, err
	}
	defer closeAll(files)
	layer := s.templateLayer(language)
	if !s.hasLayers(layer) {
		return nil, errors.New("the packages of the template are not there yet")
	}
	// Nothing that user code can write is a home or a working directory to it.
	home := map[string]string{"HOME": "/nonexistent"}
	out, _, err = s.init.Start(ctx, initd.StartRequest{
		ID: id, Argv: plan.Argv, Env: environment(s.templateEnv(), plan.Env, s.record.Spec.Env, layer.AddTo(yurt.ExecutionSpec{}).Env, home), Dir: "/",
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
func (e *Executor) followZygote(s *sandbox, language, id string, out *initd.Output) {
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
func (e *Executor) forgetZygote(s *sandbox, id string) {
	if s.isEnding() {
		return // all of it goes
	}
	ctx, cancel := context.WithTimeout(e.ctx, initTimeout)
	defer cancel()
	_ = s.init.Forget(ctx, id)
	_ = s.plans.RemoveAll(id)
	_ = s.group.Leaf(id).Remove() // while something of it is there, it goes with the sandbox
}

// endZygotes kills those that an earlier executor started, and their forks that have no run:
// what they were, it knew. In a paused sandbox, where nothing can be killed, they stay unused.
func (e *Executor) endZygotes(ctx context.Context, s *sandbox) error {
	if s.paused() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, destroyTimeout)
	defer cancel()
	found, err := s.group.Leaves()
	if err != nil {
		return err
	}
	for _, name := range found {
		if !strings.HasPrefix(name, zygotePrefix) {
			continue
		}
		if err := s.group.Leaf(name).Kill(ctx); err != nil {
			return fmt.Errorf("ending a zygote: %w", err)
		}
		e.forgetZygote(s, name)
	}
	return nil
}
