package golang

import (
	"context"
	_ "embed"
	"path"
	"regexp"
	"slices"

	"github.com/yurtrun/yurt/plugins"
)

//go:embed install.sh
var install []byte

const layerDir = "layer"

var _ plugins.DependencyPlanner = Runtime{}

// PlanDependencies implements [plugins.DependencyPlanner]: the go command downloads the
// modules that are required, as go get takes them, and those that go.mod lists, and
// compiles their packages, so that no session has to.
func (Runtime) PlanDependencies(_ context.Context, req plugins.DependencyRequest) (plugins.DependencyPlan, error) {
	required := slices.Compact(slices.Sorted(slices.Values(req.Requirements)))
	files := manifests(req.Files)
	if len(files) == 0 && len(required) == 0 {
		return plugins.DependencyPlan{}, nil
	}
	argv := []string{"/bin/sh", "install.sh", req.Tools["go"], path.Join(req.Dir, layerDir), req.Mount, SharedCache}
	return plugins.DependencyPlan{
		Inputs: append([]string{"go"}, required...), Argv: append(argv, required...), LayerDir: layerDir,
		Files: append([]plugins.File{{Path: "install.sh", Data: install}}, files...),
		Env:   map[string]string{"GOPROXY": "https://proxy.golang.org"}, // no other place: that would take git
		RunEnv: map[string]string{
			"GOMODCACHE": path.Join(req.Mount, "mod"),
			"GOFLAGS":    "-mod=mod",
			"GOSUMDB":    "off", // the modules were checked when they were downloaded
		},
	}, nil
}

// manifests returns go.mod and go.sum, if the first asks for any module.
func manifests(files []plugins.File) []plugins.File {
	asks := regexp.MustCompile(`(?m)^\s*require\b`)
	i := slices.IndexFunc(files, func(f plugins.File) bool { return f.Path == "go.mod" })
	if i < 0 || !asks.Match(files[i].Data) {
		return nil
	}
	needed := []plugins.File{{Path: path.Join(layerDir, "module", "go.mod"), Data: files[i].Data}}
	if i := slices.IndexFunc(files, func(f plugins.File) bool { return f.Path == "go.sum" }); i >= 0 {
		needed = append(needed, plugins.File{Path: path.Join(layerDir, "module", "go.sum"), Data: files[i].Data})
	}
	return needed
}
