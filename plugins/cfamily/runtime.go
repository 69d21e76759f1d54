package cfamily

import (
	"context"
	"path"
	"slices"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// Version is the version of these runtimes, not of a compiler.
const Version = "0.1.0"

// Runtime plans runs of C or of C++. It has no state, and is safe for concurrent use.
type Runtime struct {
	info     yurt.RuntimeInfo
	compiler string              // name of the tool
	flags    []string            // for the compiler, before the source files
	libs     []string            // behind them
	snippet  string              // file name
	headers  string              // the includes of a snippet without a main function
	named    map[string][]string // and the names in headers that it includes where it has one of them
}

var (
	_ plugins.Runtime     = Runtime{}
	_ plugins.Interpreter = Runtime{}
)

// C returns the runtime for C.
func C() Runtime {
	return Runtime{
		info: yurt.RuntimeInfo{
			Name:       "c",
			Version:    Version,
			Languages:  []string{"c"},
			Extensions: []string{".c"},
			Tools: []yurt.Tool{
				{Name: "cc", Paths: []string{"/usr/local/bin/gcc", "/usr/bin/gcc", "/usr/bin/clang", "/usr/bin/cc"}, Install: "install Debian's gcc and libc6-dev"},
			},
		},
		compiler: "cc",
		flags:    []string{"-std=gnu17"},
		libs:     []string{"-lm"},
		snippet:  "main.c",
		headers: "#include <ctype.h>\n#include <errno.h>\n#include <limits.h>\n#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n" +
			"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <time.h>\n#include <unistd.h>\n",
	}
}

// CPP returns the runtime for C++.
func CPP() Runtime {
	return Runtime{
		info: yurt.RuntimeInfo{
			Name:       "cpp",
			Version:    Version,
			Languages:  []string{"cpp", "c++", "cxx", "cc"},
			Extensions: []string{".cpp", ".cc", ".cxx", ".c++"},
			Tools: []yurt.Tool{
				{Name: "c++", Paths: []string{"/usr/local/bin/g++", "/usr/bin/g++", "/usr/bin/clang++", "/usr/bin/c++"}, Install: "install Debian's g++"},
			},
		},
		compiler: "c++",
		flags:    []string{"-std=gnu++20"},
		snippet:  "main.cpp",
		headers: "#include <algorithm>\n#include <cmath>\n#include <cstdint>\n#include <cstdio>\n#include <cstdlib>\n#include <iostream>\n#include <map>\n" +
			"#include <memory>\n#include <numeric>\n#include <set>\n#include <stdexcept>\n#include <string>\n#include <unordered_map>\n#include <vector>\n",
		named: standardHeaders(),
	}
}

// Describe implements [plugins.Runtime].
func (r Runtime) Describe(context.Context) (yurt.RuntimeInfo, error) {
	info := r.info
	info.Abilities = []string{string(yurt.KindCode), plugins.AbilityProject}
	return info, nil
}

// Plan implements [plugins.Runtime].
func (r Runtime) Plan(_ context.Context, req plugins.PlanRequest) (plugins.Plan, error) {
	if req.Kind != yurt.KindCode {
		return plugins.Plan{}, yurt.FieldErrorf(yurt.CodeNotSupported, "kind", "%q is not something that %s can run; give %q", req.Kind, r.info.Name, yurt.KindCode)
	}
	out := path.Join(req.OutDir, "main")
	plan := plugins.Plan{Argv: append([]string{out}, req.Args...), Interpret: true}
	sources := []string{path.Join(req.Dir, r.snippet)}
	if req.Entry == "" {
		plan.Files = []plugins.File{{Path: r.snippet, Data: []byte(r.wrap(req.Code)), Mode: 0o644}}
	} else {
		sources = r.sources(req)
	}
	// Of the optimisations, those that cost no time; frames stay for debuggers.
	argv := slices.Concat([]string{req.Tools[r.compiler]}, r.flags,
		[]string{"-O1", "-fno-omit-frame-pointer", "-pthread", "-I", ".", "-I", "include", "-o", out}, sources, r.libs)
	plan.Compile = []plugins.Step{{Argv: argv, Env: map[string]string{"TMPDIR": req.OutDir}}}
	return plan, nil
}

// sources are the entry and the other source files of the language, each so written
// that it is no option.
func (r Runtime) sources(req plugins.PlanRequest) []string {
	list := []string{"./" + req.Entry}
	for _, f := range req.Files {
		if f.Path != req.Entry && slices.Contains(r.info.Extensions, path.Ext(f.Path)) {
			list = append(list, "./"+f.Path)
		}
	}
	slices.Sort(list[1:])
	return list
}
