package csharp

import (
	"context"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// Version is the version of this runtime, not of Mono.
const Version = "0.1.0"

// withHTTP runs the compiler, with a reference to the assembly of HTTP clients where that is installed,
// and prints the hints after the errors.
const withHTTP = `for lib in /usr/lib/mono/4.5 /usr/local/lib/mono/4.5; do
	[ -e "$lib/System.Net.Http.dll" ] && set -- "$@" -r:System.Net.Http -define:` + httpSymbol + ` && break
done
"$@" && exit 0
code=$?
printf %s "$YURT_HINTS" >&2
exit $code`

// Runtime plans runs of C#. It has no state; the zero value is ready, and safe for
// concurrent use.
type Runtime struct{}

var (
	_ plugins.Runtime     = Runtime{}
	_ plugins.Interpreter = Runtime{}
)

// Describe implements [plugins.Runtime].
func (Runtime) Describe(context.Context) (yurt.RuntimeInfo, error) {
	return yurt.RuntimeInfo{
		Name:       "csharp",
		Version:    Version,
		Languages:  []string{"csharp", "c#", "cs"},
		Extensions: []string{".cs"},
		Abilities:  []string{string(yurt.KindCode), plugins.AbilityProject},
		Tools: []yurt.Tool{
			{Name: "mcs", Paths: []string{"/usr/bin/mcs", "/usr/local/bin/mcs"}, Install: "install Debian's mono-mcs"},
			{Name: "mono", Paths: []string{"/usr/bin/mono", "/usr/local/bin/mono"}, Install: "install Debian's mono-runtime"},
		},
		HostPaths: []string{"/etc/mono"}, // Debian keeps Mono's settings there
	}, nil
}

// Plan implements [plugins.Runtime].
func (Runtime) Plan(_ context.Context, req plugins.PlanRequest) (plugins.Plan, error) {
	if req.Kind != yurt.KindCode {
		return plugins.Plan{}, yurt.FieldErrorf(yurt.CodeNotSupported, "kind", "%q is not something that C# can run; give %q", req.Kind, yurt.KindCode)
	}
	plan := plugins.Plan{Interpret: true}
	sources := []string{path.Join(req.Dir, snippet)}
	if req.Entry == "" {
		plan.Files = []plugins.File{{Path: snippet, Data: []byte(wrap(req.Code)), Mode: 0o644}}
	} else {
		sources = []string{path.Join(req.Root, req.Entry)}
		for _, f := range req.Files {
			if f.Path != req.Entry && path.Ext(f.Path) == ".cs" {
				sources = append(sources, path.Join(req.Root, f.Path))
			}
		}
		slices.Sort(sources[1:])
	}
	program := path.Join(req.OutDir, "main.exe")
	plan.Compile = []plugins.Step{{Argv: slices.Concat(
		[]string{"/bin/sh", "-c", withHTTP, "sh", req.Tools["mcs"], "-nologo", "-debug", "-warn:0", "-langversion:latest", "-codepage:utf8", "-out:" + program},
		// In the stack of an exception, a snippet has no directory.
		[]string{"-pathmap:" + req.Dir + "=."}, sources), Env: hints(req)}}
	plan.Argv = append([]string{req.Tools["mono"], "--debug", program}, req.Args...)
	return plan, nil
}

// hints is the environment that has the compiler's step print the hints for the program.
func hints(req plugins.PlanRequest) map[string]string {
	var list []string
	if req.Entry == "" {
		list = hintsOf(snippet, req.Code)
	}
	for _, f := range req.Files {
		if path.Ext(f.Path) == ".cs" && utf8.Valid(f.Data) && len(list) < maxHints {
			list = append(list, hintsOf(path.Base(f.Path), string(f.Data))...)
		}
	}
	if len(list) == 0 {
		return nil
	}
	list = list[:min(len(list), maxHints)]
	return map[string]string{"YURT_HINTS": strings.ReplaceAll(strings.Join(list, "\n"), "\x00", "") + "\n"}
}
