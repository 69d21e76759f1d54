package python

import (
	"cmp"
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

const (
	pip          = "pip"
	manifest     = "requirements.txt"
	layerDir     = "layer"
	maxManifests = 64
)

var _ plugins.DependencyPlanner = Runtime{}

// PlanDependencies implements [plugins.DependencyPlanner]: pip installs the required packages, and
// those that requirements.txt lists, into a directory of its own.
func (Runtime) PlanDependencies(_ context.Context, req plugins.DependencyRequest) (plugins.DependencyPlan, error) {
	files, err := manifests(req.Files)
	if err != nil {
		return plugins.DependencyPlan{}, err
	}
	required := slices.Compact(slices.Sorted(slices.Values(req.Requirements)))
	if len(files) == 0 && len(required) == 0 {
		return plugins.DependencyPlan{}, nil
	}
	if req.Tools[pip] == "" {
		return plugins.DependencyPlan{}, yurt.FieldErrorf(yurt.CodeLanguageNotSupported, "dependencies",
			"the template has no pip, which installs packages for Python; install it, on Debian with apt-get install python3-pip")
	}
	argv := []string{
		cmp.Or(req.Tools[tool], defaultInterpreter), "-m", "pip", "install", "--target", path.Join(req.Dir, layerDir),
		"--no-input", "--disable-pip-version-check", "--no-cache-dir", "--no-warn-script-location", "--progress-bar", "off", "--no-color",
	}
	if len(files) > 0 {
		argv = append(argv, "--requirement", manifest)
	}
	return plugins.DependencyPlan{
		Inputs: append([]string{"pip"}, required...), Files: files, Argv: append(append(argv, "--"), required...),
		Env:      map[string]string{"PYTHONUNBUFFERED": "1", "PIP_ROOT_USER_ACTION": "ignore", "PIP_CONFIG_FILE": "/dev/null"},
		LayerDir: layerDir, RunEnv: map[string]string{"PYTHONPATH": req.Mount},
	}, nil
}

// manifests returns requirements.txt and the files that it names, if it asks for anything.
func manifests(files []plugins.File) ([]plugins.File, error) {
	found := map[string]plugins.File{}
	named := regexp.MustCompile(`^\s*(?:-r|-c|--requirement|--constraint)[\s=]+(\S+)`)
	asks := false
	for todo := []string{manifest}; len(todo) > 0; todo = todo[1:] {
		name := todo[0]
		i := slices.IndexFunc(files, func(f plugins.File) bool { return f.Path == name })
		if _, had := found[name]; had || i < 0 || len(found) == maxManifests {
			continue
		}
		found[name] = files[i]
		for line := range strings.Lines(string(files[i].Data)) {
			line = strings.TrimSpace(line)
			if match := named.FindStringSubmatch(line); match != nil {
				todo = append(todo, path.Join(path.Dir(name), match[1]))
				continue
			}
			if err := refuseLocal(name, line); err != nil {
				return nil, err
			}
			asks = asks || line != "" && line[0] != '#' && line[0] != '-'
		}
	}
	if !asks {
		return nil, nil
	}
	list := make([]plugins.File, 0, len(found))
	for _, f := range found {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b plugins.File) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// refuseLocal refuses a line that would install the project itself: its files are in the
// working directory, where they are found without that.
func refuseLocal(name, line string) error {
	editable := regexp.MustCompile(`^(-e|--editable)\b`).MatchString(line)
	if editable || line == "." || strings.HasPrefix(line, "./") || strings.HasPrefix(line, "../") {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "files."+name, "%.100q is not a package of a registry; leave it out, files of the project are found without it", line)
	}
	return nil
}
