package typescript

import (
	"context"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/javascript"
)

// Version is the version of this runtime, not of TypeScript.
const Version = "0.1.0"

// Runtime plans runs of TypeScript. It has no state; the zero value is ready, and safe
// for concurrent use.
type Runtime struct{}

var _ plugins.Interpreter = Runtime{}

// Describe implements [plugins.Runtime].
func (Runtime) Describe(context.Context) (yurt.RuntimeInfo, error) {
	return yurt.RuntimeInfo{
		Name:       "typescript",
		Version:    Version,
		Languages:  []string{"typescript", "ts"},
		Extensions: []string{".ts", ".mts", ".cts", ".tsx"},
		Abilities:  []string{string(yurt.KindCode), string(yurt.KindHandler), plugins.AbilityKernel, plugins.AbilityCompletion, plugins.AbilityProject, plugins.AbilityWarm, plugins.AbilityDependencies},
		Tools: []yurt.Tool{
			javascript.Node(),
			javascript.Npm(),
			{
				Name: "esbuild", Paths: []string{"/usr/local/bin/esbuild", "/usr/bin/esbuild"},
				Install: "install esbuild 0.17 or later, on Debian with apt-get install esbuild, elsewhere with npm install --global esbuild",
			},
			{Name: "sh", Paths: []string{"/bin/sh", "/usr/bin/sh"}, Install: "install a shell"},
		},
	}, nil
}

var _ plugins.DependencyPlanner = Runtime{}

// PlanDependencies implements [plugins.DependencyPlanner].
func (Runtime) PlanDependencies(_ context.Context, req plugins.DependencyRequest) (plugins.DependencyPlan, error) {
	return javascript.NpmPlan(req)
}

// Plan implements [plugins.Runtime].
func (Runtime) Plan(_ context.Context, req plugins.PlanRequest) (plugins.Plan, error) {
	bundle := path.Join(req.OutDir, "main.mjs")
	plan, err := javascript.HarnessPlan(req, bundle, "--enable-source-maps")
	if err != nil {
		return plugins.Plan{}, err
	}
	source, files := req.Source("main.ts")
	for i := range files {
		files[i].Data = append(files[i].Data, handOver(req.Handler)...)
	}
	plan.Files = append(plan.Files, files...)
	plan.Compile = []plugins.Step{{Argv: compile(req, source, bundle)}}
	if javascript.MayDefine(req) {
		plan.Compile = append(plan.Compile, plugins.Step{Argv: []string{
			req.Tools["esbuild"], "--target=node18", "--color=false", "--log-level=error",
			"--outfile=" + javascript.DefinesFile(req), source,
		}})
	}
	return plan, nil
}

// handOver is a statement after a snippet by which the harness finds a handler that is declared
// and not exported, which the bundle would leave out.
func handOver(handler string) string {
	name := handler[strings.LastIndexByte(handler, '.')+1:]
	if !regexp.MustCompile(`^[\pL_$][\pL\pN_$]*$`).MatchString(name) {
		return ""
	}
	return "\n;typeof " + name + ` === "function" && (globalThis[Symbol.for("yurt.handler")] = ` + name + ");"
}

// compile returns the command that makes the bundle. A snippet comes on standard input:
// it is then as if it lay in the working directory, as esbuild sees it.
func compile(req plugins.PlanRequest, source, bundle string) []string {
	main := path.Join(req.Root, path.Join(".", req.Entry))
	if req.Entry == "" {
		main = path.Join(req.Root, "main.ts")
	}
	argv := []string{
		req.Tools["esbuild"], "--bundle", "--format=esm", "--platform=node", "--target=node18", "--keep-names",
		"--sourcemap=inline", "--color=false", "--log-level=warning", "--outfile=" + bundle,
		"--define:import.meta.url=__yurtURL", "--banner:js=" + banner(main),
	}
	if req.Entry != "" {
		return append(argv, source)
	}
	shell := []string{req.Tools["sh"], "-c", `source=$1; shift; exec "$@" < "$source"`, "sh", source}
	return append(append(shell, argv...), "--loader=ts", "--sourcefile=main.ts")
}

// banner defines the names that modules in CommonJS expect, and the place where the code seems to
// be.
func banner(main string) string {
	quoted := "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(main) + "'"
	return "import { createRequire as __yurtRequire } from 'node:module'; import { pathToFileURL as __yurtPath } from 'node:url'; " +
		"const __filename = " + quoted + ", __dirname = __filename.slice(0, __filename.lastIndexOf('/')), " +
		"__yurtURL = __yurtPath(__filename).href, require = __yurtRequire(__filename);"
}

// Interpret implements [plugins.Interpreter].
func (Runtime) Interpret(_ context.Context, failure plugins.Failure) (*yurt.ExecutionError, error) {
	if failure.Phase != plugins.PhaseCompile {
		return javascript.InterpretNode(failure), nil
	}
	return compileError(failure), nil
}

// compileError reads the output of esbuild, the first error first:
//
//	✘ [ERROR] Unexpected "="
//
//	    main.ts:3:10:
//
// Its columns are counted from 0.
func compileError(failure plugins.Failure) *yurt.ExecutionError {
	errors := regexp.MustCompile(`(?m)^\S* ?\[ERROR\] (.+)\n(?:\n +(\S+):(\d+):(\d+):$)?`).FindAllSubmatch(failure.Output, -1)
	if len(errors) == 0 {
		return nil
	}
	found := &yurt.ExecutionError{Type: yurt.ErrorTypeCompile, Message: string(errors[0][1]), Stacktrace: []string{}}
	for _, match := range errors {
		if len(match[2]) == 0 {
			continue
		}
		name, _ := failure.UserPath(string(match[2]))
		column, err := strconv.Atoi(string(match[4]))
		if err != nil {
			continue
		}
		found.Stacktrace = append(found.Stacktrace, name+":"+string(match[3])+":"+strconv.Itoa(column+1))
	}
	if len(found.Stacktrace) > 0 {
		found.Message = found.Stacktrace[0] + ": " + found.Message
	}
	return found
}
