package executor

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/rootfs"
	"github.com/yurtrun/yurt/plugins"
)

// job is what is to be done in a sandbox for an execution.
type job struct {
	argv   []string
	env    []string
	dir    string // working directory
	files  []plugins.File
	stdin  []byte
	format plugins.ResultFormat
}

// planJob says how to carry out the execution: a command as it is, code as the
// language's runtime plans it.
func (e *Executor) planJob(ctx context.Context, s *sandbox, spec yurt.ExecutionSpec) (job, error) {
	j := job{argv: spec.Command, dir: workDir(spec.Cwd), stdin: spec.Stdin}
	if spec.Kind == yurt.KindCommand {
		j.env = environment(s.record.Spec.Template.Env, s.record.Spec.Env, spec.Env)
		return j, nil
	}
	runtimes := s.record.Spec.Template.Runtimes
	info, err := e.runtimeOf(ctx, spec.Language, runtimes)
	if err != nil {
		return job{}, err
	}
	plan, err := e.runtimes.Plan(ctx, plugins.PlanRequest{
		ExecutionID: spec.ID, Kind: spec.Kind, Language: info.Name, Code: spec.Code, Handler: spec.Handler,
		Event: spec.Event, Context: spec.Context, Dir: path.Join(rootfs.RunDir, spec.ID),
		Timeout: spec.Timeout, MemoryLimit: s.record.Spec.Resources.Memory,
	})
	if err != nil {
		return job{}, err
	}
	j.argv, j.files, j.format = plan.Argv, plan.Files, plan.Result
	j.env = environment(s.record.Spec.Template.Env, plan.Env, s.record.Spec.Env, spec.Env)
	return j, nil
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

// environment merges environments, later ones winning, over what every process has.
func environment(layers ...map[string]string) []string {
	merged := map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME": yurt.WorkspaceDir,
		"USER": rootfs.UserName,
		"LANG": "C.UTF-8",
	}
	for _, layer := range layers {
		maps.Copy(merged, layer)
	}
	list := make([]string, 0, len(merged))
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		list = append(list, name+"="+merged[name])
	}
	return list
}

// writeFiles puts the plan's files where the run finds them and cannot change them.
func (s *sandbox) writeFiles(id string, files []plugins.File) error {
	for _, f := range files {
		name := path.Join(id, f.Path)
		if _, err := s.plans.Write(name, strings.NewReader(string(f.Data)), runFileLimit, f.Mode|0o444); err != nil {
			return fmt.Errorf("preparing execution %s: %w", id, err)
		}
	}
	return nil
}

// runFileLimit bounds one file of a plan, in bytes.
const runFileLimit = 32 << 20
