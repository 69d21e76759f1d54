package rust_test

import (
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/rust"
)

// FuzzInterpret: whatever a program prints, there is an answer, which is an error with a
// type or none.
func FuzzInterpret(f *testing.F) {
	for _, seed := range []string{
		"",
		"error[E1]: x\n --> /run/yurt/x/main.rs:1:2\nwarning: y\n --> a:1\nerror: aborting due to 2",
		"thread 'main' panicked at 'a\nb', /run/yurt/x/main.rs:1:2\nstack backtrace:\n   6: p::f\n             at ./p.rs:2:58\nnote: x",
		"thread 'm' (1) panicked at p.rs:2:59:\nmsg\nstack backtrace:\n  1: 0x1 - a::h0123456789abcdef\n at /workspace/a.rs:1:1",
		"thread 'm' panicked at ':",
		"thread 'm' panicked at ', ",
		"thread 'm' has overflowed its stack",
		"Error: x\ny",
		"error[]: ",
		"--> a:1",
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, output string, compile bool) {
		failure := plugins.Failure{Phase: plugins.PhaseRun, ExitCode: 1, Output: []byte(output), Root: "/workspace", Dir: "/run/yurt/x", OutDir: "/tmp/o", Entry: "a/b"}
		if compile {
			failure.Phase = plugins.PhaseCompile
		}
		got, err := rust.Runtime{}.Interpret(t.Context(), failure)
		if err != nil || compile && got == nil || got != nil && (got.Type == "" || got.Stacktrace == nil) {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// FuzzWrap: every snippet has a plan, and the plan is valid.
func FuzzWrap(f *testing.F) {
	for _, seed := range []string{
		"",
		"#![allow(x)] let a = f()?;",
		"fn main() {}",
		"#![",
		"// fn main()",
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
	plan, err := rust.Runtime{}.Plan(t.Context(), plugins.PlanRequest{
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
