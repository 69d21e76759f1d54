package executor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/plugins"
)

// warmPrefix and a language name the context of the handler that stays warm in it. A session
// has one for each: what is invoked in turns would hold memory that it does not use.
const warmPrefix = "handler-"

// warmLanguage is the language of a handler that stays warm, and "" for any other function.
func warmLanguage(spec yurt.ExecutionSpec) string {
	if language, ok := strings.CutPrefix(spec.ContextName, warmPrefix); ok && len(spec.Command) == 0 {
		return language
	}
	return ""
}

// staysWarm returns the runtime of a handler whose process may stay for its next invocation,
// and whether it may. One that has anything of a process's own runs in a process of its own.
func (e *Executor) staysWarm(ctx context.Context, s *sandbox, st start) (yurt.RuntimeInfo, bool) {
	spec := st.spec
	switch {
	case spec.Kind != yurt.KindHandler, !spec.ContextOptional, s.record.Spec.Template.Isolation.PerExecution,
		len(spec.Stdin) > 0, spec.StdinOpen, spec.Terminal != nil, spec.User != nil, len(st.stdio.files()) > 0, len(spec.Args) > 0,
		spec.Entry != "" && len(spec.Files) == 0: // of files that are there already nobody says whether they changed
		return yurt.RuntimeInfo{}, false
	}
	info, err := e.runtimeOf(ctx, spec.Language, s.record.Spec.Template.Runtimes)
	return info, err == nil && slices.Contains(info.Abilities, plugins.AbilityWarm)
}

// startWarm queues the invocation of a handler at the process that served the one before, or
// at a fresh one where its code or its environment is another. It reports whether it did: an
// invocation beside another runs in the ordinary way.
func (e *Executor) startWarm(s *sandbox, st start, info yurt.RuntimeInfo) (bool, error) {
	spec := st.spec
	if _, err := s.tools(info); err != nil {
		return false, err
	}
	if err := s.checkEntry(workDir(spec.Cwd), spec); err != nil {
		return false, err
	}
	identity, err := json.Marshal([]any{spec.Code, spec.Entry, spec.Files, spec.Handler, spec.Context, spec.Env, workDir(spec.Cwd)})
	if err != nil {
		return false, fmt.Errorf("telling handlers apart: %w", err)
	}
	sum := sha256.Sum256(identity)
	if spec.Event = compactEvent(spec.Event); spec.Event == nil {
		return false, nil // the runtime says what is wrong with it
	}
	spec.Language, spec.ContextName = functionLanguage, warmPrefix+info.Name
	c := e.warmContext(s, spec, hex.EncodeToString(sum[:]))
	if c == nil {
		return false, nil
	}
	if err := s.writeSources(workDir(spec.Cwd), spec.Files); err != nil {
		return false, err
	}
	spec.Files = nil
	return e.submitWarm(s, c, spec, st.phases)
}

// compactEvent returns the event without white space; no event is an empty object, and one
// that is no JSON is nil.
func compactEvent(event []byte) json.RawMessage {
	if len(bytes.TrimSpace(event)) == 0 {
		return json.RawMessage("{}")
	}
	var compact bytes.Buffer
	if !utf8.Valid(event) || json.Compact(&compact, event) != nil {
		return nil
	}
	return compact.Bytes()
}

// submitWarm puts an invocation into its context, unless another is there.
func (e *Executor) submitWarm(s *sandbox, c *sessionContext, spec yurt.ExecutionSpec, phases *phases) (bool, error) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if err := s.running(); err != nil {
		return false, err
	}
	r, err := s.addRun(spec, job{cell: &spec}, phases)
	if err != nil {
		return false, err
	}
	if taken, err := c.SubmitIdle(newCell(r)); err != nil || !taken {
		return false, s.forgetStart(r, err)
	}
	return true, nil
}

// warmContext returns the context of a handler, a new one in place of one that another
// handler had, and nil where that is not possible now.
func (e *Executor) warmContext(s *sandbox, spec yurt.ExecutionSpec, identity string) *sessionContext {
	key := contextKey{spec.Language, spec.ContextName}
	s.mu.Lock()
	old := s.contexts[key]
	switch {
	case old == nil:
	case old.identity == identity:
		s.mu.Unlock()
		return old
	default:
		if state, _, _ := old.View(); state == yurt.ContextBusy {
			s.mu.Unlock()
			return nil
		}
		delete(s.contexts, key)
	}
	s.mu.Unlock()
	if old != nil {
		old.Close()
	}
	c, err := e.contextOf(s, spec)
	if err != nil { // there are too many
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.identity == "" {
		c.identity = identity
	}
	if c.identity != identity {
		return nil
	}
	return c
}

// planFunction says how the process of a function is started, the process id.
func (e *Executor) planFunction(ctx context.Context, s *sandbox, id string, spec yurt.ExecutionSpec, api string) (plugins.Plan, error) {
	language := warmLanguage(spec)
	if language == "" {
		return plugins.Plan{Argv: spec.Command, Env: functionEnv(s, spec, api)}, nil
	}
	info, err := e.runtimeOf(ctx, language, s.record.Spec.Template.Runtimes)
	if err != nil {
		return plugins.Plan{}, err
	}
	tools, err := s.tools(info)
	if err != nil {
		return plugins.Plan{}, err
	}
	plan, err := e.runtimes.Plan(ctx, plugins.PlanRequest{
		ExecutionID: id, Kind: spec.Kind, Language: info.Name, Code: spec.Code, Handler: spec.Handler, Context: spec.Context,
		Dir: path.Join(rootfs.RunDir, id), Timeout: spec.Timeout, MemoryLimit: s.record.Spec.Resources.Memory,
		Files: sourceFiles(spec.Files), Entry: spec.Entry, Root: workDir(spec.Cwd), OutDir: outDir(id), CacheDir: cacheDir(info.Name), Tools: tools,
	})
	switch {
	case err != nil:
		return plugins.Plan{}, err
	case len(plan.Compile) > 0:
		return plugins.Plan{}, yurt.Errorf(yurt.CodeRuntimeIncompatible, "the runtime %s says that handlers stay warm, and compiles them", info.Name)
	}
	plan.Argv = append(plan.Argv[:len(plan.Argv):len(plan.Argv)], api)
	return plan, nil
}
