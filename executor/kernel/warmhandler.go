package kernel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/executor/run"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/plugins"
)

const (
	// warmPrefix begins the name of the context of a handler that stays warm; its language and a hash of its identity follow.
	warmPrefix = "handler-"
	// maxWarm is how many of them a session has at most, fewer where its sandbox has less
	// than warmMemory for each.
	maxWarm    = 4
	warmMemory = 128 << 20
)

// warmName names the context of a handler. The start parameters of its process identify a handler.
func warmName(language string, spec yurt.ExecutionSpec) (string, error) {
	identity, err := json.Marshal([]any{spec.Code, spec.Entry, spec.Files, spec.Handler, spec.Context, spec.Env, sandbox.WorkDirOf(spec.Cwd)})
	if err != nil {
		return "", fmt.Errorf("telling handlers apart: %w", err)
	}
	sum := sha256.Sum256(identity)
	return warmPrefix + language + "-" + hex.EncodeToString(sum[:8]), nil
}

// warmLanguage is the language of a handler that stays warm, and "" for any other function.
func warmLanguage(spec yurt.ExecutionSpec) string {
	language, ok := strings.CutPrefix(spec.ContextName, warmPrefix)
	if !ok || len(spec.Command) > 0 {
		return ""
	}
	if at := strings.LastIndexByte(language, '-'); at > 0 { // an older executor had one for each language
		language = language[:at]
	}
	return language
}

// StaysWarm returns the runtime of a handler whose process may stay for its next invocation,
// and whether it may. One that has anything of a process's own runs in a process of its own.
func (e *Engine) StaysWarm(ctx context.Context, s *Sandbox, st run.Request) (yurt.RuntimeInfo, bool) {
	spec := st.Spec
	switch {
	case spec.Kind != yurt.KindHandler, !spec.ContextOptional, s.Record.Spec.Template.Isolation.PerExecution,
		len(spec.Stdin) > 0, spec.StdinOpen, spec.Terminal != nil, spec.User != nil, len(st.Stdio.Files()) > 0, len(spec.Args) > 0,
		spec.Entry != "" && len(spec.Files) == 0: // files that exist already may have changed without notice
		return yurt.RuntimeInfo{}, false
	}
	info, err := e.runs.RuntimeOf(ctx, spec.Language, s.Record.Spec.Template.Runtimes)
	return info, err == nil && slices.Contains(info.Abilities, plugins.AbilityWarm)
}

// StartWarm queues the invocation of a handler at the process that served the previous one, or at a fresh process. It
// reports whether it did: while another invocation runs, this one runs in the ordinary way.
func (e *Engine) StartWarm(s *Sandbox, st run.Request, info yurt.RuntimeInfo) (bool, error) {
	spec := st.Spec
	if _, err := s.Tools(info); err != nil {
		return false, err
	}
	if err := s.CheckEntry(sandbox.WorkDirOf(spec.Cwd), spec); err != nil {
		return false, err
	}
	name, err := warmName(info.Name, spec)
	if err != nil {
		return false, err
	}
	if spec.Event = compactEvent(spec.Event); spec.Event == nil {
		return false, nil // the runtime reports the error in the handler
	}
	spec.Language, spec.ContextName = functionLanguage, name
	c := e.warmContext(s, spec)
	if c == nil {
		return false, nil
	}
	if err := s.WriteSources(sandbox.WorkDirOf(spec.Cwd), spec.Files); err != nil {
		return false, err
	}
	spec.Files = nil
	return e.submitWarm(s, c, spec, st.Phases)
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
func (e *Engine) submitWarm(s *Sandbox, c *sessionContext, spec yurt.ExecutionSpec, phases *sandbox.Phases) (bool, error) {
	s.Gate.RLock()
	defer s.Gate.RUnlock()
	if err := s.CheckRunning(); err != nil {
		return false, err
	}
	r, err := s.Add(spec, run.Job{Cell: &spec}, phases)
	if err != nil {
		return false, err
	}
	if taken, err := c.SubmitIdle(newCell(r)); err != nil || !taken {
		return false, s.ForgetStart(r, err)
	}
	return true, nil
}

// warmContext returns the context of a handler, in place of others' where there are as many
// as may, and nil where that is not possible now.
func (e *Engine) warmContext(s *Sandbox, spec yurt.ExecutionSpec) *sessionContext {
	for {
		c, others := e.addWarm(s, spec)
		if len(others) == 0 {
			return c
		}
		if !slices.ContainsFunc(others, s.evict) {
			return nil // all of them are busy
		}
	}
}

// addWarm returns the context of a handler, which it makes where there is room, and nil where
// the session has too many contexts. Where others are in its place it returns these, the one
// first that was invoked the longest ago.
func (e *Engine) addWarm(s *Sandbox, spec yurt.ExecutionSpec) (c *sessionContext, others []*sessionContext) {
	s.Lock()
	defer s.Unlock()
	c = s.contexts[contextKey{spec.Language, spec.ContextName}]
	if c == nil {
		for key, other := range s.contexts {
			if key.language == functionLanguage && strings.HasPrefix(key.name, warmPrefix) {
				others = append(others, other)
			}
		}
		if int64(len(others)) >= min(max(int64(s.Record.Spec.Resources.Memory)/warmMemory, 1), maxWarm) {
			slices.SortFunc(others, func(a, b *sessionContext) int { return a.used.Compare(b.used) })
			return nil, others
		}
		var err error
		if c, err = e.newContext(s, spec); err != nil {
			return nil, nil
		}
	}
	c.used = time.Now()
	return c, nil
}

// evict removes a context that is idle, and reports whether it did. A context is asked without
// the sandbox's lock, which it takes itself.
func (s *Sandbox) evict(c *sessionContext) bool {
	if !c.CloseIdle() {
		return false
	}
	s.Lock()
	defer s.Unlock()
	if s.contexts[c.key] == c {
		delete(s.contexts, c.key)
	}
	return true
}

// planFunction says how the process of a function is started, the process id.
func (e *Engine) planFunction(ctx context.Context, s *Sandbox, id string, spec yurt.ExecutionSpec, api string) (run.Job, error) {
	language := warmLanguage(spec)
	if language == "" { // in a client's environment, the variables that Lambda documents win
		return run.Job{Argv: spec.Command, Env: s.Environment(s.TemplateEnv(), s.Record.Spec.Env, spec.Env, functionEnv(s, spec, api))}, nil
	}
	info, err := e.runs.RuntimeOf(ctx, language, s.Record.Spec.Template.Runtimes)
	if err != nil {
		return run.Job{}, err
	}
	tools, err := s.Tools(info)
	if err != nil {
		return run.Job{}, err
	}
	req := plugins.PlanRequest{
		ExecutionID: id, Kind: spec.Kind, Language: info.Name, Code: spec.Code, Handler: spec.Handler, Context: spec.Context,
		Dir: path.Join(rootfs.RunDir, id), Timeout: spec.Timeout, MemoryLimit: s.Record.Spec.Resources.Memory,
		Files: run.SourceFiles(spec.Files), Entry: spec.Entry, Root: sandbox.WorkDirOf(spec.Cwd), OutDir: sandbox.OutDir(id), CacheDir: sandbox.CacheDir(info.Name), Tools: tools,
	}
	plan, err := e.runtimes.Plan(ctx, req)
	if err != nil {
		return run.Job{}, err
	}
	plan.Argv = append(slices.Clip(plan.Argv), api)
	plan.Result = plugins.ResultNone // the API takes it
	var j run.Job
	if err := s.CarryOut(&j, spec, req, plan); err != nil {
		return run.Job{}, err
	}
	layer := s.TemplateLayer(info.Name) // which adds to the environment, and a zygote has it as well
	ownEnv := !maps.Equal(spec.Env, layer.AddTo(yurt.ExecutionSpec{}).Env)
	j.Language = e.runs.Forkable(s.ForRun(), run.Request{Spec: spec, OwnEnv: ownEnv, Layer: layer.Mount()}, j, info)
	return j, nil
}
