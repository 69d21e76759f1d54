package kernel

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/kernel/internal/protocol"
	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/plugins"
)

// contextKey names a context of a sandbox.
type contextKey struct{ language, name string }

// sessionContext is a context, and since when it is there.
type sessionContext struct {
	*protocol.Context
	key     contextKey
	created time.Time
	ahead   bool      // its kernel was started before the first execution
	used    time.Time // when a handler that stays warm was last invoked; the sandbox's lock guards it
}

// KeepsState reports whether the execution is to run in a context.
func (e *Engine) KeepsState(ctx context.Context, s *Sandbox, spec yurt.ExecutionSpec) (bool, error) {
	if spec.ContextName == "" {
		return false, nil
	}
	info, err := e.runs.RuntimeOf(ctx, spec.Language, s.Record.Spec.Template.Runtimes)
	if err != nil {
		return false, err
	}
	if slices.Contains(info.Abilities, plugins.AbilityKernel) {
		return true, nil
	}
	if spec.ContextOptional {
		return false, nil
	}
	return false, yurt.FieldErrorf(yurt.CodeNotSupported, "context", "%s keeps no state between executions; leave the context out", info.Name)
}

// StartCell queues an execution in its context.
func (e *Engine) StartCell(s *Sandbox, spec yurt.ExecutionSpec, phases *sandbox.Phases) error {
	spec, err := e.PrepareCell(s, spec)
	if err != nil {
		return err
	}
	return e.queueCell(s, spec, phases)
}

// PrepareCell checks an execution and prepares it for its queue.
func (e *Engine) PrepareCell(s *Sandbox, spec yurt.ExecutionSpec) (yurt.ExecutionSpec, error) {
	info, err := e.runs.RuntimeOf(e.ctx, spec.Language, s.Record.Spec.Template.Runtimes)
	if err != nil {
		return spec, err
	}
	if _, err := s.Tools(info); err != nil {
		return spec, err
	}
	if err := info.ValidateKernel("context", s.Kernel(info.Name)); err != nil {
		return spec, err
	}
	if err := s.WriteSources(sandbox.WorkDirOf(spec.Cwd), spec.Files); err != nil {
		return spec, err
	}
	if !slices.Contains(info.Abilities, string(yurt.KindHandler)) {
		spec.Handler = "" // its kernel has no handlers
	}
	spec.Language, spec.Files = info.Name, nil
	return spec, nil
}

// queueCell records an execution and puts it into the queue of its context.
func (e *Engine) queueCell(s *Sandbox, spec yurt.ExecutionSpec, phases *sandbox.Phases) error {
	s.Gate.RLock()
	defer s.Gate.RUnlock()
	if err := s.CheckRunning(); err != nil {
		return err
	}
	c, err := e.contextOf(s, spec)
	if err != nil {
		return err
	}
	r, err := s.Add(spec, run.Job{Cell: &spec}, phases)
	if err != nil {
		return err
	}
	if err := c.Submit(newCell(r)); err != nil {
		return s.ForgetStart(r, err)
	}
	return nil
}

// contextOf returns the context of an execution, and makes it if it does not exist.
func (e *Engine) contextOf(s *Sandbox, spec yurt.ExecutionSpec) (*sessionContext, error) {
	s.Lock()
	defer s.Unlock()
	if c := s.contexts[contextKey{spec.Language, spec.ContextName}]; c != nil {
		return c, nil
	}
	return e.newContext(s, spec)
}

// newContext makes the context of an execution. The lock is held.
func (e *Engine) newContext(s *Sandbox, spec yurt.ExecutionSpec) (*sessionContext, error) {
	key := contextKey{spec.Language, spec.ContextName}
	if err := s.checkOwner(key); err != nil && !IsFunction(spec) {
		return nil, err
	}
	if len(s.contexts) >= yurt.MaxContexts {
		return nil, yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "context", "the session has %d contexts, as many as it may; remove one", yurt.MaxContexts)
	}
	c := &sessionContext{key: key, created: time.Now()}
	start := func() (protocol.Process, error) { return e.startKernel(s, c) }
	if IsFunction(spec) {
		spec.Event = nil
		start = func() (protocol.Process, error) { return e.startFunction(s, spec) }
	}
	since, owed := s.debts[key]
	if owed {
		delete(s.debts, key)
		c.created = since
	}
	c.Context = protocol.New(start, e.goes, func(owed bool) { e.noteDebt(s, c, owed) }, owed)
	s.contexts[key] = c
	return c, nil
}

// checkOwner refuses a name that a context of another language has. The default context is
// one for each language, since executions do not name it. The lock is held.
func (s *Sandbox) checkOwner(key contextKey) error {
	if key.name == yurt.DefaultContext {
		return nil
	}
	for other := range s.contexts {
		if other.name == key.name && other.language != key.language {
			return yurt.FieldErrorf(yurt.CodeInvalidArgument, "context", "context %q belongs to %s, and code in %s cannot run there; choose another name, or remove that context", key.name, other.language, key.language)
		}
	}
	return nil
}

// Contexts lists the contexts of the sandbox by name.
func (s *Sandbox) Contexts() []yurt.Context {
	list := []yurt.Context{}
	for _, c := range s.contextsNamed("", "") {
		view := yurt.Context{Name: c.key.name, Language: c.key.language, CreatedAt: c.created}
		view.State, view.Queued, view.Executions = c.View()
		if c.ahead && view.Queued+view.Executions == 0 && view.State != yurt.ContextBusy {
			continue // never used
		}
		list = append(list, view)
	}
	slices.SortFunc(list, func(a, b yurt.Context) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Language, b.Language))
	})
	return list
}

// RestartContexts ends the interpreters of the contexts of that name and language.
func (s *Sandbox) RestartContexts(name, language string) error {
	contexts, err := s.contextsToChange(name, language)
	for _, c := range contexts {
		c.Restart()
	}
	return err
}

// RemoveContexts ends the contexts of that name and language.
func (s *Sandbox) RemoveContexts(name, language string) error {
	contexts, err := s.contextsToChange(name, language)
	for _, c := range contexts {
		s.Lock()
		delete(s.contexts, c.key)
		s.Unlock()
		c.Close()
	}
	return err
}

// contextsToChange returns the contexts of that name and language, of which there is one at least.
func (s *Sandbox) contextsToChange(name, language string) ([]*sessionContext, error) {
	if err := s.CheckRunning(); err != nil {
		return nil, err
	}
	contexts := s.contextsNamed(name, language)
	if len(contexts) == 0 {
		return nil, yurt.Errorf(yurt.CodeContextNotFound, "the session has no context %q; one is made by the first execution in it", name)
	}
	return contexts, nil
}

// contextsNamed returns the contexts of that name and language; an empty argument matches every context.
func (s *Sandbox) contextsNamed(name, language string) []*sessionContext {
	s.Lock()
	defer s.Unlock()
	var list []*sessionContext
	for key, c := range s.contexts {
		if (name == "" || key.name == name) && (language == "" || key.language == language) {
			list = append(list, c)
		}
	}
	return list
}

// SignalCell sends a signal to an execution in a context.
func (s *Sandbox) SignalCell(r *run.Run, signal yurt.Signal) error {
	s.Lock()
	c := s.contexts[contextKey{r.Record.Cell.Language, r.Record.Cell.ContextName}]
	s.Unlock()
	if c == nil {
		return nil // removed, and it ended with it
	}
	if IsFunction(*r.Record.Cell) {
		signal = yurt.Signal(syscall.SIGKILL) // its client takes no other for more than the end
	}
	return c.Signal(r.Record.ID, syscall.Signal(signal))
}

// StartAhead starts the kernel of the language's default context before an execution asks for it.
func (e *Engine) StartAhead(s *Sandbox, language string) {
	if c, err := e.contextOf(s, yurt.ExecutionSpec{Language: language, ContextName: yurt.DefaultContext}); err == nil {
		c.ahead = true
		c.Start()
	}
}

// RemoveKernels ends the kernels of a sandbox that has just been claimed with an environment, which
// they lack. The first execution starts another.
func (e *Engine) RemoveKernels(s *Sandbox) {
	for _, c := range s.contextsNamed("", "") {
		s.Lock()
		delete(s.contexts, c.key)
		s.Unlock()
		e.goes(c.Close)
	}
}
