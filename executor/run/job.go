package run

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

// Job is the work of an execution in its sandbox.
type Job struct {
	Argv    []string
	Env     []string
	dir     string            // working directory
	sources []yurt.SourceFile // written to dir, as the user
	Files   []plugins.File    // of the plan
	stdin   []byte
	Control bool   // whether the process has descriptor 3
	Layer   string // digest of the packages to install first; "" without packages
	Plan    PlanRecord

	openStdin bool                // more comes after stdin
	terminal  *yurt.TerminalSize  // nil: no terminal
	Stdio     Stdio               // the caller's own
	Cell      *yurt.ExecutionSpec // set, and no other field, when it runs in a context
	Language  string              // whose zygote may fork the process; "" if it is not forked
	user      yurt.User
}

// PlanJob says how to carry out the execution: a command as it is, code as the
// language's runtime plans it.
func (e *Engine) PlanJob(ctx context.Context, s *Sandbox, st Request) (Job, error) {
	spec := st.Spec
	j := Job{
		Argv: spec.Command, dir: s.WorkDir(spec), sources: spec.Files, stdin: spec.Stdin,
		openStdin: spec.StdinOpen, terminal: spec.Terminal, user: userOf(spec),
	}
	if spec.Kind == yurt.KindCommand {
		j.Env = s.Environment(terminalEnv(spec), s.TemplateEnv(), s.Record.Spec.Env, spec.Env)
		return j, nil
	}
	runtimes := s.Record.Spec.Template.Runtimes
	info, err := e.RuntimeOf(ctx, spec.Language, runtimes)
	if err != nil {
		return Job{}, err
	}
	tools, err := s.Tools(info)
	if err != nil {
		return Job{}, err
	}
	if err := s.CheckEntry(j.dir, spec); err != nil {
		return Job{}, err
	}
	req := plugins.PlanRequest{
		ExecutionID: spec.ID, Kind: spec.Kind, Language: info.Name, Code: spec.Code, Handler: spec.Handler,
		Event: spec.Event, Context: spec.Context, Dir: path.Join(rootfs.RunDir, spec.ID),
		Timeout: spec.Timeout, MemoryLimit: s.Record.Spec.Resources.Memory,
		Files: SourceFiles(spec.Files), Entry: spec.Entry, Args: spec.Args, Root: j.dir,
		OutDir: sandbox.OutDir(spec.ID), CacheDir: sandbox.CacheDir(info.Name), Tools: tools, Layer: st.Layer,
	}
	plan, err := e.runtimes.Plan(ctx, req)
	if err != nil {
		return Job{}, err
	}
	if err := s.CarryOut(&j, spec, req, plan); err != nil {
		return Job{}, err
	}
	j.Language = e.Forkable(s, st, j, info)
	return j, nil
}

// userOf is whom the execution runs as, inside.
func userOf(spec yurt.ExecutionSpec) yurt.User {
	if spec.User != nil {
		return *spec.User
	}
	return yurt.User{UID: rootfs.UserID, GID: rootfs.GroupID}
}

// CarryOut fills j from the plan of the language's runtime.
func (s *Sandbox) CarryOut(j *Job, spec yurt.ExecutionSpec, req plugins.PlanRequest, plan plugins.Plan) error {
	template := s.TemplateEnv()
	j.Argv, j.Files = plan.Argv, plan.Files
	j.Control = plan.Result == plugins.ResultEnvelope
	j.Env = s.Environment(terminalEnv(spec), template, plan.Env, s.Record.Spec.Env, spec.Env)
	j.Plan = PlanRecord{
		Language: req.Language, Format: plan.Result, Interpret: plan.Interpret, Compiles: len(plan.Compile),
		Root: req.Root, Entry: req.Entry, Inserted: (*steps.Insertion)(plan.Inserted),
	}
	if len(plan.Compile) == 0 {
		return nil
	}
	todo := steps.Plan{Dirs: []string{req.OutDir, req.CacheDir}, Argv: plan.Argv, Control: j.Control, Hidden: []string{req.Dir, req.OutDir}, Inserted: j.Plan.Inserted}
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
	j.Files = append(j.Files, plugins.File{Path: stepsFile, Data: data, Mode: 0o444})
	j.Argv = []string{layout.InitPath, steps.Command, path.Join(req.Dir, stepsFile)}
	j.Control = true
	return nil
}

// stepsFile is where the steps of a plan are, beside its own files.
const stepsFile = ".yurt-steps"

// SourceFiles returns the files of a request as runtimes get them.
func SourceFiles(files []yurt.SourceFile) []plugins.File {
	var list []plugins.File
	for _, f := range files {
		list = append(list, plugins.File{Path: f.Path, Data: f.Data})
	}
	return list
}

// RuntimeOf finds the installed runtime of the language and checks that the
// template allows it.
func (e *Engine) RuntimeOf(ctx context.Context, language string, allowed []string) (yurt.RuntimeInfo, error) {
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

// terminalEnv returns the variables by which a program knows its terminal.
func terminalEnv(spec yurt.ExecutionSpec) map[string]string {
	if spec.Terminal == nil {
		return nil
	}
	return map[string]string{"TERM": "xterm-256color"}
}

// Forkable returns the language whose zygote can start the job as a fresh interpreter would
// run it, or "". A fork keeps the state of the zygote before the first line of the code, above all
// its environment, so a job with an environment of its own is not forked.
func (e *Engine) Forkable(s *Sandbox, st Request, j Job, info yurt.RuntimeInfo) string {
	spec := st.Spec
	switch {
	case !e.starter.Forks(s.Sandbox, info), j.Plan.Compiles > 0, st.OwnEnv, st.Layer != s.TemplateLayer(info.Name).Mount():
	case len(spec.Stdin) > 0, spec.StdinOpen, spec.Terminal != nil, spec.User != nil, len(st.Stdio.Files()) > 0:
	case len(s.Record.Spec.Template.Preload) > 0 && path.Dir(spec.Entry) != ".": // a zygote looks for files of the same names in the directory alone
	default:
		return info.Name
	}
	return ""
}
