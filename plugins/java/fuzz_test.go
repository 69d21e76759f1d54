package java_test

import (
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/java"
)

// FuzzInterpret: whatever a program prints, there is an answer, which is an error with a
// type or none.
func FuzzInterpret(f *testing.F) {
	for _, seed := range []string{
		"",
		"A.java:1: error: x\n  a\n  ^\n  symbol: y\n",
		"Exception in thread \"main\" a.B: c\nd\n\tat A.f(A.java:1)\nCaused by: x\n\tat java.base/a.b(C.java:1)\n\t... 1 more",
		"Exception in thread \"",
		"Exception in thread \"a\" ",
		"Error: x",
		"error: y\n  symbol: z",
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, output string, compile bool) {
		failure := plugins.Failure{Phase: plugins.PhaseRun, ExitCode: 1, Output: []byte(output), Root: "/workspace", Dir: "/run/yurt/x", OutDir: "/tmp/o", Entry: "a/b"}
		if compile {
			failure.Phase = plugins.PhaseCompile
		}
		got, err := java.Runtime{}.Interpret(t.Context(), failure)
		if err != nil || compile && got == nil || got != nil && got.Stacktrace == nil {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// FuzzWrap: every snippet has a plan, and the plan is valid.
func FuzzWrap(f *testing.F) {
	for _, seed := range []string{
		"",
		"int x = 1;",
		"package a.b; import c; public class D { void main(); }",
		"package",
		"package ;",
		"record",
		"static void main() { }",
		"class",
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
	plan, err := java.Runtime{}.Plan(t.Context(), plugins.PlanRequest{
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
