package golang_test

import (
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/golang"
)

// FuzzInterpret: whatever a program prints, there is an answer, which is an error with a
// type or none.
func FuzzInterpret(f *testing.F) {
	for _, seed := range []string{
		"",
		"# m\n./main.go:5:2: x\n\tdetail\ngo: no\n",
		"panic: first [recovered]\n\tpanic: again\n\ngoroutine 1 [running]:\nmain.f(...)\n\t/run/yurt/x/main.go:5\nmain.main()\n\t/workspace/a/b.go:8 +0x185\n\ngoroutine 2 [x]:\n",
		"fatal error: x\n\ngoroutine 1:\n\t",
		"panic: ",
		"created by main.main in goroutine 1\n\t/workspace/a:1",
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, output string, compile bool) {
		failure := plugins.Failure{Phase: plugins.PhaseRun, ExitCode: 1, Output: []byte(output), Root: "/workspace", Dir: "/run/yurt/x", OutDir: "/tmp/o", Entry: "a/b"}
		if compile {
			failure.Phase = plugins.PhaseCompile
		}
		got, err := golang.Runtime{}.Interpret(t.Context(), failure)
		if err != nil || compile && got == nil || got != nil && (got.Type == "" || got.Stacktrace == nil) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// FuzzWrap: every snippet has a plan, and the plan is valid.
func FuzzWrap(f *testing.F) {
	for _, seed := range []string{
		"",
		"x := 1",
		"package main",
		"import \"fmt\"\nfunc (t T) f() {}\nfunc() {}()\nvar x = 1\nfunc main() {}",
		"func main",
		"func (",
		"func(",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, code string) { plan(t, code) })
}

// TestLargeSnippets: the largest snippets are planned too, whatever they are made of.
func TestLargeSnippets(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{";", "\n", "{};", "a\n", "import a;", " #", "func f(){}\n"} {
		plan(t, strings.Repeat(unit, yurt.MaxCodeBytes/len(unit)))
	}
}

// plan plans a run of the code.
func plan(t *testing.T, code string) {
	t.Helper()
	plan, err := golang.Runtime{}.Plan(t.Context(), plugins.PlanRequest{
		Kind: "code", Code: code, Dir: "/run/yurt/x", Root: "/workspace", OutDir: "/tmp/o", CacheDir: "/tmp/c",
		Tools: map[string]string{"go": "/bin/go", "rustc": "/bin/rustc", "javac": "/bin/javac", "java": "/bin/java", "cc": "/bin/cc", "c++": "/bin/c++", "mcs": "/bin/mcs", "mono": "/bin/mono"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Validate(); err != nil {
		t.Error(err)
	}
}
