package compiledtest

import (
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// FuzzInterpret has a runtime read any output of a compiler or a program: there is an answer, which
// is an error with a type and a stack or, for a program, nil.
func FuzzInterpret(f *testing.F, runtime plugins.Interpreter, seeds ...string) {
	for _, seed := range append(seeds, "") {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, output string, compile bool) {
		failure := plugins.Failure{Phase: plugins.PhaseRun, ExitCode: 1, Output: []byte(output), Root: "/workspace", Dir: "/run/yurt/x", OutDir: "/tmp/o", Entry: "a/b"}
		if compile {
			failure.Phase = plugins.PhaseCompile
		}
		got, err := runtime.Interpret(t.Context(), failure)
		if err != nil || compile && got == nil || got != nil && (got.Type == "" || got.Stacktrace == nil) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// FuzzPlan has a runtime plan any snippet: there is a plan, which is valid.
func FuzzPlan(f *testing.F, runtime plugins.Runtime, seeds ...string) {
	for _, seed := range append(seeds, "") {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, code string) { plan(t, runtime, code) })
}

// LargeSnippets has a runtime plan the largest snippets, made of several units.
func LargeSnippets(t *testing.T, runtime plugins.Runtime) {
	t.Helper()
	for _, unit := range []string{";", "\n", "{};", "a\n", "import a;", " #", "func f(){}\n"} {
		plan(t, runtime, strings.Repeat(unit, yurt.MaxCodeBytes/len(unit)))
	}
}

func plan(t *testing.T, runtime plugins.Runtime, code string) {
	t.Helper()
	info, err := runtime.Describe(t.Context())
	if err != nil {
		t.Fatalf("describing: %v", err)
	}
	req := Snippet(code)
	req.Dir, req.Root, req.OutDir, req.CacheDir = "/run/yurt/x", "/workspace", "/tmp/o", "/tmp/c"
	req.Tools = map[string]string{}
	for _, tool := range info.Tools {
		req.Tools[tool.Name] = tool.Paths[0]
	}
	plan, err := runtime.Plan(t.Context(), req)
	if err != nil {
		t.Fatalf("planning: %v", err)
	}
	if err := plan.Validate(); err != nil {
		t.Errorf("the plan is not valid: %v", err)
	}
}
