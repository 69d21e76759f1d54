package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/initd/steps"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
	"github.com/yurtrun/yurt/executor/sandbox"
	"github.com/yurtrun/yurt/plugins"
)

// job is what is to be done in a sandbox for an execution.
type job struct {
	argv    []string
	env     []string
	dir     string            // working directory
	sources []yurt.SourceFile // written to dir, as the user
	files   []plugins.File    // of the plan
	stdin   []byte
	control bool   // whether the process has descriptor 3
	layer   string // digest of what has to be installed first; "" for nothing
	plan    planRecord

	openStdin bool                // more comes after stdin
	terminal  *yurt.TerminalSize  // nil: none
	stdio     Stdio               // the caller's own
	cell      *yurt.ExecutionSpec // set, and nothing else, when it runs in a context
	language  string              // whose zygote may fork the process; "" for none
	user      yurt.User
}

// planJob says how to carry out the execution: a command as it is, code as the
// language's runtime plans it.
func (e *Executor) planJob(ctx context.Context, s *handle, st request) (job, error) {
	spec := st.spec
	j := job{
		argv: spec.Command, dir: s.WorkDir(spec), sources: spec.Files, stdin: spec.Stdin,
		openStdin: spec.StdinOpen, terminal: spec.Terminal, user: userOf(spec),
	}
	if spec.Kind == yurt.KindCommand {
		j.env = s.Environment(terminalEnv(spec), s.TemplateEnv(), s.Record.Spec.Env, spec.Env)
		return j, nil
	}
	runtimes := s.Record.Spec.Template.Runtimes
	info, err := e.runtimeOf(ctx, spec.Language, runtimes)
	if err != nil {
		return job{}, err
	}
	tools, err := s.Tools(info)
	if err != nil {
		return job{}, err
	}
	if err := s.CheckEntry(j.dir, spec); err != nil {
		return job{}, err
	}
	req := plugins.PlanRequest{
		ExecutionID: spec.ID, Kind: spec.Kind, Language: info.Name, Code: spec.Code, Handler: spec.Handler,
		Event: spec.Event, Context: spec.Context, Dir: path.Join(rootfs.RunDir, spec.ID),
		Timeout: spec.Timeout, MemoryLimit: s.Record.Spec.Resources.Memory,
		Files: sourceFiles(spec.Files), Entry: spec.Entry, Args: spec.Args, Root: j.dir,
		OutDir: sandbox.OutDir(spec.ID), CacheDir: sandbox.CacheDir(info.Name), Tools: tools, Layer: st.layer,
	}
	plan, err := e.runtimes.Plan(ctx, req)
	if err != nil {
		return job{}, err
	}
	if err := s.carryOut(&j, spec, req, plan); err != nil {
		return job{}, err
	}
	j.language = e.forkable(s, st, j, info)
	return j, nil
}

// userOf is whom the execution runs as, inside.
func userOf(spec yurt.ExecutionSpec) yurt.User {
	if spec.User != nil {
		return *spec.User
	}
	return yurt.User{UID: rootfs.UserID, GID: rootfs.GroupID}
}

// carryOut makes j what the plan says.
func (s *handle) carryOut(j *job, spec yurt.ExecutionSpec, req plugins.PlanRequest, plan plugins.Plan) error {
	template := s.TemplateEnv()
	j.argv, j.files = plan.Argv, plan.Files
	j.control = plan.Result == plugins.ResultEnvelope
	j.env = s.Environment(terminalEnv(spec), template, plan.Env, s.Record.Spec.Env, spec.Env)
	j.plan = planRecord{
		Language: req.Language, Format: plan.Result, Interpret: plan.Interpret, Compiles: len(plan.Compile),
		Root: req.Root, Entry: req.Entry, Inserted: (*steps.Insertion)(plan.Inserted),
	}
	if len(plan.Compile) == 0 {
		return nil
	}
	todo := steps.Plan{Dirs: []string{req.OutDir, req.CacheDir}, Argv: plan.Argv, Control: j.control, Hidden: []string{req.Dir, req.OutDir}, Inserted: j.plan.Inserted}
	for _, step := range plan.Compile {
		todo.Compile = append(todo.Compile, steps.Step{
			Argv: step.Argv, Timeout: step.Timeout.Std(),
			Env: s.Environment(terminalEnv(spec), template, plan.Env, step.Env, s.Record.Spec.Env, spec.Env),
		})
	}
	data, err := json.Marshal(todo)
	if err != nil {
		return fmt.Errorf("writing the steps of execution %s: %w", spec.ID, err)
	}
	j.files = append(j.files, plugins.File{Path: stepsFile, Data: data, Mode: 0o444})
	j.argv = []string{layout.InitPath, steps.Command, path.Join(req.Dir, stepsFile)}
	j.control = true
	return nil
}

// stepsFile is where the steps of a plan are, beside its own files.
const stepsFile = ".yurt-steps"

func sourceFiles(files []yurt.SourceFile) []plugins.File {
	var list []plugins.File
	for _, f := range files {
		list = append(list, plugins.File{Path: f.Path, Data: f.Data})
	}
	return list
}

// runtimeOf finds the installed runtime of the language and checks that the
// template allows it.
func (e *Executor) runtimeOf(ctx context.Context, language string, allowed []string) (yurt.RuntimeInfo, error) {
	info, err := e.runtimes.RuntimeOf(ctx, language)
	if err != nil {
		return yurt.RuntimeInfo{}, err
	}
	if !slices.Contains(allowed, info.Name) {
		return yurt.RuntimeInfo{}, yurt.FieldErrorf(yurt.CodeLanguageNotSupported, "language",
			"the template does not run %s; it runs: %s", language, orNone(allowed))
	}
	return info, nil
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "commands only"
	}
	return strings.Join(list, ", ")
}

// terminalEnv is what a program looks for that has a terminal.
func terminalEnv(spec yurt.ExecutionSpec) map[string]string {
	if spec.Terminal == nil {
		return nil
	}
	return map[string]string{"TERM": "xterm-256color"}
}
