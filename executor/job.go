package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/initd/steps"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/executor/rootfs/layout"
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
func (e *Executor) planJob(ctx context.Context, s *sandbox, st start) (job, error) {
	spec := st.spec
	j := job{
		argv: spec.Command, dir: s.workDir(spec), sources: spec.Files, stdin: spec.Stdin,
		openStdin: spec.StdinOpen, terminal: spec.Terminal, user: userOf(spec),
	}
	if spec.Kind == yurt.KindCommand {
		j.env = s.environment(terminalEnv(spec), s.templateEnv(), s.record.Spec.Env, spec.Env)
		return j, nil
	}
	runtimes := s.record.Spec.Template.Runtimes
	info, err := e.runtimeOf(ctx, spec.Language, runtimes)
	if err != nil {
		return job{}, err
	}
	tools, err := s.tools(info)
	if err != nil {
		return job{}, err
	}
	if err := s.checkEntry(j.dir, spec); err != nil {
		return job{}, err
	}
	req := plugins.PlanRequest{
		ExecutionID: spec.ID, Kind: spec.Kind, Language: info.Name, Code: spec.Code, Handler: spec.Handler,
		Event: spec.Event, Context: spec.Context, Dir: path.Join(rootfs.RunDir, spec.ID),
		Timeout: spec.Timeout, MemoryLimit: s.record.Spec.Resources.Memory,
		Files: sourceFiles(spec.Files), Entry: spec.Entry, Args: spec.Args, Root: j.dir,
		OutDir: outDir(spec.ID), CacheDir: cacheDir(info.Name), Tools: tools, Layer: st.layer,
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
func (s *sandbox) carryOut(j *job, spec yurt.ExecutionSpec, req plugins.PlanRequest, plan plugins.Plan) error {
	template := s.templateEnv()
	j.argv, j.files = plan.Argv, plan.Files
	j.control = plan.Result == plugins.ResultEnvelope
	j.env = s.environment(terminalEnv(spec), template, plan.Env, s.record.Spec.Env, spec.Env)
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
			Env: s.environment(terminalEnv(spec), template, plan.Env, step.Env, s.record.Spec.Env, spec.Env),
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

// outDir is the directory for what an execution compiles.
func outDir(id string) string { return path.Join(tempDir, outPrefix+id) }

// cacheDir is the directory for what executions of a runtime keep for the next.
func cacheDir(runtime string) string { return path.Join(tempDir, ".yurt-cache", runtime) }

const (
	tempDir   = "/tmp" // of the sandbox
	outPrefix = ".yurt-out-"
)

func sourceFiles(files []yurt.SourceFile) []plugins.File {
	var list []plugins.File
	for _, f := range files {
		list = append(list, plugins.File{Path: f.Path, Data: f.Data})
	}
	return list
}

// checkEntry refuses an entry that neither came with the execution nor is there.
func (s *sandbox) checkEntry(dir string, spec yurt.ExecutionSpec) error {
	if spec.Entry == "" || slices.ContainsFunc(spec.Files, func(f yurt.SourceFile) bool { return f.Path == spec.Entry }) {
		return nil
	}
	_, err := s.files.Stat(path.Join(dir, spec.Entry))
	if yurt.CodeOf(err) == yurt.CodeFileNotFound {
		return yurt.FieldErrorf(yurt.CodeFileNotFound, "entry", "there is no file %s in %s; give it in files, or upload it before", spec.Entry, dir)
	}
	return err
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

// workDir is where the execution starts: the image's working directory for a command that
// names no other and brings no files, since the image cannot be written to.
func (s *sandbox) workDir(spec yurt.ExecutionSpec) string {
	if spec.Kind == yurt.KindCommand && spec.Cwd == "" && len(spec.Files) == 0 && s.image != nil && s.image.WorkingDir != "" {
		return path.Join("/", s.image.WorkingDir)
	}
	return workDir(spec.Cwd)
}

func workDir(cwd string) string {
	switch {
	case cwd == "":
		return yurt.WorkspaceDir
	case path.IsAbs(cwd):
		return path.Clean(cwd)
	default:
		return path.Join(yurt.WorkspaceDir, cwd)
	}
}

// terminalEnv is what a program looks for that has a terminal.
func terminalEnv(spec yurt.ExecutionSpec) map[string]string {
	if spec.Terminal == nil {
		return nil
	}
	return map[string]string{"TERM": "xterm-256color"}
}

// merge merges environments, later ones winning, over what every process has.
func merge(layers ...map[string]string) map[string]string {
	merged := map[string]string{
		"PATH": defaultPath,
		"HOME": yurt.WorkspaceDir,
		"USER": rootfs.UserName,
		"LANG": "C.UTF-8",
	}
	for _, layer := range layers {
		maps.Copy(merged, layer)
	}
	return merged
}

// listed returns an environment as a process gets it.
func listed(merged map[string]string) []string {
	list := make([]string, 0, len(merged))
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		list = append(list, name+"="+merged[name])
	}
	return list
}

// writeSources puts the files that came with an execution into its working directory.
func (s *sandbox) writeSources(dir string, files []yurt.SourceFile) error {
	for _, f := range files {
		if _, err := s.files.Write(path.Join(dir, f.Path), bytes.NewReader(f.Data), yurt.MaxFilesBytes, givenMode); err != nil {
			return err
		}
	}
	return nil
}

// writeFiles puts the plan's files where the run finds them and cannot change them.
func (s *sandbox) writeFiles(id string, files []plugins.File) error {
	for _, f := range files {
		name := path.Join(id, f.Path)
		if _, err := s.plans.Write(name, bytes.NewReader(f.Data), runFileLimit, f.Mode|0o444); err != nil {
			return fmt.Errorf("preparing execution %s: %w", id, err)
		}
	}
	return nil
}

// runFileLimit bounds one file of a plan, in bytes.
const runFileLimit = 32 << 20
