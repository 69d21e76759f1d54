// Command yurt-runtime-lua is a language runtime for Lua 5.4, and the example that docs/RUNTIMES.md
// explains. It shows all that a runtime can have: tools, a compile step, a project, and errors that
// are read from the language's output.
package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"regexp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

func main() {
	if err := plugins.Serve(lua{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type lua struct{}

var _ plugins.Interpreter = lua{}

// Describe implements [plugins.Runtime].
func (lua) Describe(context.Context) (yurt.RuntimeInfo, error) {
	const install = "install Lua 5.4, on Debian with apt-get install lua5.4"
	return yurt.RuntimeInfo{
		Name:       "lua",
		Version:    "0.1.0",
		Languages:  []string{"lua", "lua5.4"},
		Extensions: []string{".lua"},
		Abilities:  []string{string(yurt.KindCode), plugins.AbilityProject},
		Tools: []yurt.Tool{
			{Name: "lua", Paths: []string{"/usr/bin/lua5.4", "/usr/local/bin/lua"}, Install: install},
			{Name: "luac", Paths: []string{"/usr/bin/luac5.4", "/usr/local/bin/luac"}, Install: install},
		},
	}, nil
}

// Plan implements [plugins.Runtime].
func (lua) Plan(_ context.Context, req plugins.PlanRequest) (plugins.Plan, error) {
	source, files := req.Source("main.lua")
	return plugins.Plan{
		Files: files,
		// luac -p checks the syntax, so that code with errors of syntax does not run.
		Compile: []plugins.Step{{Argv: []string{req.Tools["luac"], "-p", "--", source}}},
		Argv:    append([]string{req.Tools["lua"], source}, req.Args...),
		// Modules are found beside the entry; ;; stands for Lua's own places.
		Env:       map[string]string{"LUA_PATH": path.Join(req.Root, path.Dir(req.Entry), "?.lua") + ";;"},
		Interpret: true,
	}, nil
}

// Interpret implements [plugins.Interpreter].
func (lua) Interpret(_ context.Context, failure plugins.Failure) (*yurt.ExecutionError, error) {
	kind := "LuaError"
	if failure.Phase == plugins.PhaseCompile {
		kind = yurt.ErrorTypeCompile
	}
	// lua5.4: main.lua:3: attempt to index a nil value
	first := regexp.MustCompile(`(?m)^\S*luac?(?:5\.4)?: (?:(\S+):(\d+): )?(.*)$`).FindSubmatch(failure.Output)
	if first == nil {
		return nil, nil
	}
	found := &yurt.ExecutionError{Type: kind, Message: string(first[3]), Stacktrace: []string{}}
	if failure.Phase == plugins.PhaseCompile {
		line := name(failure, string(first[1])) + ":" + string(first[2])
		found.Message, found.Stacktrace = line+": "+found.Message, []string{line}
		return found, nil
	}
	// Lua names the innermost call first; a stack trace begins with the outermost.
	calls := regexp.MustCompile(`(?m)^\t(\S+):(\d+): (in .*)$`).FindAllSubmatch(failure.Output, -1)
	for i := len(calls) - 1; i >= 0; i-- {
		found.Stacktrace = append(found.Stacktrace, fmt.Sprintf("%s:%s: %s", name(failure, string(calls[i][1])), calls[i][2], calls[i][3]))
	}
	return found, nil
}

// name is the user's name of a file. Lua shortens long names at their beginning.
func name(failure plugins.Failure, file string) string {
	if name, ok := failure.UserPath(file); ok && file[0] != '.' {
		return name
	}
	return path.Base(file)
}
