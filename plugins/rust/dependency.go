package rust

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

//go:embed install.sh
var install []byte

const layerDir = "layer"

var _ plugins.DependencyPlanner = Runtime{}

// PlanDependencies implements [plugins.DependencyPlanner]: cargo downloads the crates that
// are required, or that Cargo.toml lists, with their sources, and compiles them, so that no
// session has to.
func (Runtime) PlanDependencies(_ context.Context, req plugins.DependencyRequest) (plugins.DependencyPlan, error) {
	files := manifests(req.Files)
	required := slices.Compact(slices.Sorted(slices.Values(req.Requirements)))
	switch {
	case len(files) == 0 && len(required) == 0:
		return plugins.DependencyPlan{}, nil
	case len(required) > 0 && hasManifest(req.Files):
		return plugins.DependencyPlan{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, "dependencies", "the project has a Cargo.toml; list the crates there, under [dependencies]")
	case req.Tools["cargo"] == "":
		return plugins.DependencyPlan{}, yurt.FieldErrorf(yurt.CodeLanguageNotSupported, "dependencies",
			"the template has no cargo, which installs packages for Rust; install it, on Debian with apt-get install cargo")
	case len(required) > 0:
		manifest, err := manifestOf(required)
		if err != nil {
			return plugins.DependencyPlan{}, err
		}
		files = []plugins.File{{Path: path.Join(layerDir, "package", "Cargo.toml"), Data: []byte(manifest)}}
	}
	return plugins.DependencyPlan{
		Inputs: []string{"cargo"}, Files: append([]plugins.File{{Path: "install.sh", Data: install}}, files...),
		Argv:     []string{"/bin/sh", "install.sh", req.Tools["cargo"], path.Join(req.Dir, layerDir), req.Mount},
		Env:      map[string]string{"RUSTUP_HOME": rustupHome},
		LayerDir: layerDir,
	}, nil
}

// manifestOf returns the Cargo.toml of a snippet that requires the crates: NAME,
// NAME@VERSION, or a line of such a file.
func manifestOf(required []string) (string, error) {
	short := regexp.MustCompile(`^([A-Za-z0-9_-]+)(?:@([0-9A-Za-z.+*^~=<>, -]+))?$`)
	line := regexp.MustCompile(`^[A-Za-z0-9_-]+ *= *["{]`)
	var text strings.Builder
	text.WriteString("[package]\nname = \"main\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[dependencies]\n")
	for _, r := range required {
		if match := short.FindStringSubmatch(r); match != nil {
			version := match[2]
			if version == "" {
				version = "*"
			}
			fmt.Fprintf(&text, "%s = \"%s\"\n", match[1], version)
			continue
		}
		if !line.MatchString(r) {
			return "", yurt.FieldErrorf(yurt.CodeInvalidArgument, "dependencies", "%.100q is not a crate; write NAME, NAME@VERSION, or a line as in Cargo.toml such as serde = { version = \"1\", features = [\"derive\"] }", r)
		}
		text.WriteString(r + "\n")
	}
	return text.String(), nil
}

func hasManifest(files []plugins.File) bool {
	return slices.ContainsFunc(files, func(f plugins.File) bool { return f.Path == "Cargo.toml" })
}

// manifests returns Cargo.toml and Cargo.lock, if the first asks for any crate, and an
// empty source for each target that it names: cargo looks for them, and needs no more.
func manifests(files []plugins.File) []plugins.File {
	asks := regexp.MustCompile(`(?m)^\s*\[(?:target\..*\.)?(?:build-)?dependencies(?:\.[^\]]+)?\]\s*(?:#.*)?\n(?:\s*(?:#.*)?\n)*\s*[^\[\s]`)
	i := slices.IndexFunc(files, func(f plugins.File) bool { return f.Path == "Cargo.toml" })
	if i < 0 || !asks.Match(files[i].Data) {
		return nil
	}
	needed := []plugins.File{{Path: path.Join(layerDir, "package", "Cargo.toml"), Data: files[i].Data}}
	for _, f := range files {
		switch {
		case f.Path == "Cargo.lock":
			needed = append(needed, plugins.File{Path: path.Join(layerDir, "package", f.Path), Data: f.Data})
		case strings.HasSuffix(f.Path, ".rs") && len(needed) < plugins.MaxPlanFiles-2:
			needed = append(needed, plugins.File{Path: path.Join(layerDir, "package", f.Path), Data: []byte("fn main() {}\n")})
		}
	}
	return needed
}
