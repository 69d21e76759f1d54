package javascript

import (
	"context"
	_ "embed"
	"encoding/json"
	"path"
	"slices"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

const (
	npm       = "npm"
	manifest  = "package.json"
	lockFile  = "package-lock.json"
	layerDir  = "layer"
	moduleDir = "node_modules"
)

//go:embed install.sh
var install []byte

var _ plugins.DependencyPlanner = Runtime{}

// Npm is the tool that installs packages.
func Npm() yurt.Tool {
	return yurt.Tool{
		Name: npm, Paths: []string{"/usr/local/bin/npm", "/usr/bin/npm"},
		Install: "install npm, on Debian with apt-get install npm", Optional: true,
	}
}

// PlanDependencies implements [plugins.DependencyPlanner].
func (Runtime) PlanDependencies(_ context.Context, req plugins.DependencyRequest) (plugins.DependencyPlan, error) {
	return NpmPlan(req)
}

// NpmPlan has npm install the required packages, and those that the package.json of the project
// lists. With a lock file it installs the versions of that file. Scripts of the project itself do
// not run.
func NpmPlan(req plugins.DependencyRequest) (plugins.DependencyPlan, error) {
	files, locked := manifests(req.Files)
	required := slices.Compact(slices.Sorted(slices.Values(req.Requirements)))
	if len(files) == 0 && len(required) == 0 {
		return plugins.DependencyPlan{}, nil
	}
	if req.Tools[npm] == "" {
		return plugins.DependencyPlan{}, yurt.FieldErrorf(yurt.CodeLanguageNotSupported, "dependencies",
			"the template has no npm, which installs packages for JavaScript; install it, on Debian with apt-get install npm")
	}
	command := "install"
	if locked && len(required) == 0 {
		command = "ci"
	}
	argv := []string{
		"/bin/sh", "install.sh", req.Tools["node"], req.Tools[npm], command,
		"--prefix", path.Join(req.Dir, layerDir), "--omit=dev", "--no-audit", "--no-fund", "--no-update-notifier", "--no-progress", "--",
	}
	return plugins.DependencyPlan{
		Inputs: append([]string{npm}, required...), Argv: append(argv, required...),
		Files: append([]plugins.File{{Path: "install.sh", Data: install}}, files...),
		Env: map[string]string{
			"npm_config_cache": "/tmp/npm", "npm_config_userconfig": "/tmp/npmrc-user", "npm_config_globalconfig": "/tmp/npmrc-global",
		},
		LayerDir: layerDir, RunEnv: map[string]string{"NODE_PATH": path.Join(req.Mount, moduleDir)},
	}, nil
}

// manifests returns the files of the project that npm needs, if the project asks for any package.
func manifests(files []plugins.File) (needed []plugins.File, locked bool) {
	at := func(name string) int {
		return slices.IndexFunc(files, func(f plugins.File) bool { return f.Path == name })
	}
	i := at(manifest)
	var project map[string]json.RawMessage
	if i < 0 || json.Unmarshal(files[i].Data, &project) != nil {
		return nil, false // Node reports the error, if it matters
	}
	kept := make(map[string]json.RawMessage)
	asks := false
	for _, name := range []string{
		"name", "version", "type", "dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "peerDependenciesMeta", "overrides",
	} {
		value, there := project[name]
		if !there {
			continue
		}
		kept[name] = value
		var packages map[string]json.RawMessage
		if (name == "dependencies" || name == "optionalDependencies") && json.Unmarshal(value, &packages) == nil {
			asks = asks || len(packages) > 0
		}
	}
	if !asks {
		return nil, false
	}
	data, err := json.Marshal(kept)
	if err != nil {
		return nil, false
	}
	needed = []plugins.File{{Path: path.Join(layerDir, manifest), Data: data}}
	if i := at(lockFile); i >= 0 {
		return append(needed, plugins.File{Path: path.Join(layerDir, lockFile), Data: files[i].Data}), true
	}
	return needed, false
}
