package r

import (
	"bytes"
	"context"
	_ "embed"
	"path"
	"slices"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// Version is the version of this runtime, not of R.
const Version = "0.1.0"

//go:embed common.R
var common []byte

//go:embed run.R
var run []byte

//go:embed kernel.R
var kernel []byte

// Runtime plans runs of R. It has no state; the zero value is ready, and safe for
// concurrent use.
type Runtime struct{}

var (
	_ plugins.Runtime       = Runtime{}
	_ plugins.KernelPlanner = Runtime{}
)

// Describe implements [plugins.Runtime].
func (Runtime) Describe(context.Context) (yurt.RuntimeInfo, error) {
	return yurt.RuntimeInfo{
		Name:       "r",
		Version:    Version,
		Languages:  []string{"r"},
		Extensions: []string{".r"},
		Abilities:  []string{string(yurt.KindCode), plugins.AbilityProject, plugins.AbilityKernel},
		Tools:      []yurt.Tool{{Name: "r", Paths: []string{"/usr/bin/R", "/usr/local/bin/R"}, Install: "install Debian's r-base-core"}},
		HostPaths:  []string{"/etc/R", "/etc/fonts"}, // R's settings, and the fonts of plots
	}, nil
}

// Plan implements [plugins.Runtime].
func (Runtime) Plan(_ context.Context, req plugins.PlanRequest) (plugins.Plan, error) {
	if req.Kind != yurt.KindCode {
		return plugins.Plan{}, yurt.FieldErrorf(yurt.CodeNotSupported, "kind", "%q is not something that R can run; give %q", req.Kind, yurt.KindCode)
	}
	source, files := req.Source("main.R")
	name := req.Entry
	if name == "" {
		name = "main.R"
	}
	files = append(files, plugins.File{Path: "run.R", Data: apart(common, run), Mode: 0o644})
	return plugins.Plan{
		Files:  files,
		Argv:   slices.Concat(command(req.Tools["r"], path.Join(req.Dir, "run.R")), []string{name, source}, req.Args),
		Result: plugins.ResultEnvelope,
	}, nil
}

// PlanKernel implements [plugins.KernelPlanner].
func (Runtime) PlanKernel(_ context.Context, req plugins.KernelRequest) (plugins.KernelPlan, error) {
	return plugins.KernelPlan{
		Files: []plugins.File{{Path: "kernel.R", Data: apart(common, kernel), Mode: 0o644}},
		Argv:  append(command(req.Tools["r"], path.Join(req.Dir, "kernel.R")), req.Dir),
	}, nil
}

// apart has R read the parts of a program in an environment of their own: the global one is the user's.
func apart(parts ...[]byte) []byte {
	return slices.Concat([]byte("evalq({\n"), bytes.Join(parts, []byte("\n")), []byte("\n}, new.env(parent = baseenv()))\n"))
}

// command starts R with a program of ours, whose arguments follow.
func command(tool, program string) []string {
	return []string{tool, "--no-echo", "--no-save", "--no-restore", "--no-site-file", "--no-init-file", "--no-environ", "--file=" + program, "--args"}
}
