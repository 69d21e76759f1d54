package golang

import (
	"context"
	_ "embed"
	"path"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// Version is the version of this runtime, not of Go.
const Version = "0.1.0"

// SharedCache is where a template may have a build cache of the standard library, as
// [MakeCache] makes it, unless it names another place in [CacheEnv]. It is only read.
const SharedCache = "/usr/local/lib/yurt/cache/go-build"

//go:embed build.sh
var build []byte

// Runtime plans runs of Go. It has no state; the zero value is ready, and safe for
// concurrent use.
type Runtime struct{}

var (
	_ plugins.Runtime     = Runtime{}
	_ plugins.Interpreter = Runtime{}
)

// Describe implements [plugins.Runtime].
func (Runtime) Describe(context.Context) (yurt.RuntimeInfo, error) {
	return yurt.RuntimeInfo{
		Name:       "go",
		Version:    Version,
		Languages:  []string{"go", "golang"},
		Extensions: []string{".go"},
		Abilities:  []string{string(yurt.KindCode), plugins.AbilityProject, plugins.AbilityDependencies},
		Tools: []yurt.Tool{{
			Name:    "go",
			Paths:   []string{"/usr/local/go/bin/go", "/usr/local/bin/go", "/usr/bin/go", "/usr/lib/go/bin/go"},
			Install: "unpack a release of go.dev/dl into /usr/local, or install Debian's golang-go",
		}},
		Path: []string{"/usr/local/go/bin"},
	}, nil
}

// Plan implements [plugins.Runtime].
func (Runtime) Plan(_ context.Context, req plugins.PlanRequest) (plugins.Plan, error) {
	if req.Kind != yurt.KindCode {
		return plugins.Plan{}, yurt.FieldErrorf(yurt.CodeNotSupported, "kind", "%q is not something that Go can run; give %q", req.Kind, yurt.KindCode)
	}
	files := []plugins.File{{Path: "build.sh", Data: build, Mode: 0o644}}
	entry := req.Entry
	if entry == "" {
		entry = path.Join(req.Dir, "main.go")
		files = append(files, plugins.File{Path: "main.go", Data: []byte(wrap(req.Code)), Mode: 0o644})
	}
	return plugins.Plan{
		Files: files,
		Compile: []plugins.Step{{
			Argv: []string{"/bin/sh", path.Join(req.Dir, "build.sh"), req.Tools["go"], entry, req.Root, req.OutDir, req.CacheDir, SharedCache, req.Layer},
		}},
		Argv:      append([]string{path.Join(req.OutDir, "main")}, req.Args...),
		Env:       environment(req),
		Interpret: true,
	}, nil
}

// environment keeps the go command from the network and out of the workspace.
func environment(req plugins.PlanRequest) map[string]string {
	return map[string]string{
		"CGO_ENABLED": "0",
		"GOPATH":      path.Join(req.CacheDir, "go"),
		"GOPROXY":     "off",
		"GOTOOLCHAIN": "local",
	}
}
