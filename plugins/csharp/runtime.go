package csharp

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// Version is the version of this runtime, not of .NET or Mono.
const Version = "0.1.0"

//go:embed dotnet.sh
var dotnetScript []byte

//go:embed mono.sh
var monoScript []byte

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
		// The first is the one of the others that compiles.
		Tools: []yurt.Tool{
			{Name: "compiler", Paths: slices.Concat(dotnetPaths(), mcsPaths()), Install: "install the .NET SDK, or Debian's mono-mcs"},
			{Name: "dotnet", Paths: dotnetPaths(), Install: "install the .NET SDK", Optional: true},
			{Name: "mcs", Paths: mcsPaths(), Install: "install Debian's mono-mcs", Optional: true},
			{Name: "mono", Paths: []string{"/usr/bin/mono", "/usr/local/bin/mono"}, Install: "install Debian's mono-runtime", Optional: true},
		},
		HostPaths: []string{"/etc/mono"}, // Debian keeps Mono's settings there
	}, nil
}

// Plan implements [plugins.Runtime].
func (Runtime) Plan(_ context.Context, req plugins.PlanRequest) (plugins.Plan, error) {
	if req.Kind != yurt.KindCode {
		return plugins.Plan{}, yurt.FieldErrorf(yurt.CodeNotSupported, "kind", "%q is not something that C# can run; give %q", req.Kind, yurt.KindCode)
	}
	if req.Tools["dotnet"] == "" && req.Tools["mono"] == "" {
		return plugins.Plan{}, yurt.Errorf(yurt.CodeLanguageNotSupported,
			"the sandbox has Mono's compiler and not mono, which runs its programs; install Debian's mono-runtime")
	}
	plan := plugins.Plan{Interpret: true, Files: []plugins.File{{Path: "mono.sh", Data: monoScript, Mode: 0o644}}}
	sources := []string{path.Join(req.Dir, snippet)}
	if req.Entry == "" {
		plan.Files = append(plan.Files, plugins.File{Path: snippet, Data: []byte(wrap(req.Code)), Mode: 0o644})
	} else {
		sources = []string{path.Join(req.Root, req.Entry)}
		for _, f := range req.Files {
			if f.Path != req.Entry && path.Ext(f.Path) == ".cs" {
				sources = append(sources, path.Join(req.Root, f.Path))
			}
		}
		slices.Sort(sources[1:])
	}
	if needsEntry(req) {
		plan.Files = append(plan.Files, plugins.File{Path: "entry.cs", Data: []byte(entry), Mode: 0o644})
		sources = append(sources, path.Join(req.Dir, "entry.cs"))
	}
	// In the stack of an exception, a snippet has no directory.
	flags := []string{"-nologo", "-warn:0", "-unsafe", "-langversion:latest", "-codepage:65001", "-pathmap:" + req.Dir + "=."}
	if req.Tools["dotnet"] != "" {
		planDotnet(&plan, req, slices.Concat(flags, sources))
	} else {
		files, copies := replaced(req, sources)
		plan.Files = append(plan.Files, files...)
		planMono(&plan, req, slices.Concat(flags, copies))
	}
	return plan, nil
}

// needsEntry reports whether the program has an asynchronous main method, of its own or of [wrap]'s making.
func needsEntry(req plugins.PlanRequest) bool {
	if req.Entry == "" {
		return asyncMain.MatchString(wrap(req.Code))
	}
	return slices.ContainsFunc(req.Files, func(f plugins.File) bool { return path.Ext(f.Path) == ".cs" && asyncMain.Match(f.Data) })
}

func planMono(plan *plugins.Plan, req plugins.PlanRequest, rest []string) {
	program := path.Join(req.OutDir, "main.exe")
	plan.Compile = []plugins.Step{{
		Argv: slices.Concat([]string{"/bin/sh", path.Join(req.Dir, "mono.sh"), req.Tools["mcs"], "-debug", "-out:" + program}, rest),
		Env:  hints(req),
	}}
	plan.Argv = append([]string{req.Tools["mono"], "--debug", program}, req.Args...)
}

// planDotnet has the program compiled for .NET, unless only Mono has a compiler.
func planDotnet(plan *plugins.Plan, req plugins.PlanRequest, rest []string) {
	plan.Files = append(plan.Files, plugins.File{Path: "dotnet.sh", Data: dotnetScript, Mode: 0o644})
	mcs, program := "", []string{req.Tools["dotnet"], "exec", path.Join(req.OutDir, "main.dll")}
	var env map[string]string
	if req.Tools["mcs"] != "" && req.Tools["mono"] != "" {
		mcs, env = req.Tools["mcs"], hints(req)
		program = append([]string{"/bin/sh", "-c", eitherProgram, "sh", req.Tools["mono"], path.Join(req.OutDir, "main.exe")}, program...)
	}
	plan.Compile = []plugins.Step{{
		Argv: slices.Concat([]string{"/bin/sh", path.Join(req.Dir, "dotnet.sh"), req.Tools["dotnet"], mcs, req.OutDir, "-debug"}, rest),
		Env:  env,
	}}
	plan.Argv = slices.Concat(program, req.Args)
	// Without its sockets for debuggers .NET starts sooner, and leaves no files in /tmp.
	// .NET Core knows its settings by the first prefix, .NET by the second.
	plan.Env = map[string]string{}
	for _, prefix := range []string{"COMPlus_", "DOTNET_"} {
		plan.Env[prefix+"EnableDiagnostics"] = "0"
		if req.MemoryLimit > 0 {
			plan.Env[prefix+"GCHeapHardLimit"] = fmt.Sprintf("%x", int64(req.MemoryLimit)/10*6)
		}
	}
}

// eitherProgram runs the program that the compiler has made: that for Mono, or that for .NET.
const eitherProgram = `mono=$1 program=$2
shift 2
[ ! -e "$program" ] && exec "$@"
shift 3
exec "$mono" --debug "$program" "$@"`

func dotnetPaths() []string {
	return []string{"/usr/share/dotnet/dotnet", "/usr/lib/dotnet/dotnet", "/usr/bin/dotnet", "/usr/local/share/dotnet/dotnet", "/usr/local/bin/dotnet", "/opt/dotnet/dotnet"}
}

func mcsPaths() []string {
	return []string{"/usr/bin/mcs", "/usr/local/bin/mcs"}
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
