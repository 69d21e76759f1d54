package cfamily_test

import (
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/cfamily"
)

// FuzzInterpret: whatever a program prints, there is an answer, which is an error with a
// type or none.
func FuzzInterpret(f *testing.F) {
	for _, seed := range []string{
		"",
		"a.c:1:2: error: x\na.c:1:2: warning: y\n/usr/bin/ld: a.o: in function `m':\na.c:(.text+0x5): undefined reference to `f'",
		"terminate called after throwing an instance of 'int'",
		"terminate called after throwing an instance of 'std::x'\n  what():  a\nb",
		"m: a.c:5: main: Assertion `c==7' failed.",
		"*** stack smashing detected ***: terminated",
		": Assertion `' failed.",
		"a: Assertion `' failed.",
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, output string, compile bool) {
		failure := plugins.Failure{Phase: plugins.PhaseRun, ExitCode: 1, Output: []byte(output), Root: "/workspace", Dir: "/run/yurt/x", OutDir: "/tmp/o", Entry: "a/b"}
		if compile {
			failure.Phase = plugins.PhaseCompile
		}
		got, err := cfamily.C().Interpret(t.Context(), failure)
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
		"#include <a>\nint f() { }\nstruct s { } a; typedef struct { } t;",
		"int main",
		"\\\n#",
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
	plan, err := cfamily.C().Plan(t.Context(), plugins.PlanRequest{
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
