//go:build long

package languages

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/images"
	"github.com/yurtrun/yurt/hcl"
	"github.com/yurtrun/yurt/plugins/conformance"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestImages runs programs with the toolchains of images, in sessions of the example templates: their output shows
// that the compiler is the image's and newer than, or other than, the host's.
func TestImages(t *testing.T) {
	testutil.NeedsSandboxes(t)
	registry := testutil.StartRegistry(t)
	config := testutil.Config(t, testutil.Build(t))
	config.Transient = true
	config.Images = images.Config{Registries: []string{registry.Host}}
	e := testutil.Start(t, config)

	t.Run("rust", func(t *testing.T) {
		s := create(t, e, ofImage(t, registry, "rust", testutil.Debian(t, "rust", []string{"rustc-web"})))
		r := imageRun(t, e, s, "rust", `use std::sync::LazyLock;
static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| vec!["let", "else"]);
fn second(list: &[&str]) -> Option<usize> {
    let [_, word] = list else { return None };
    Some(word.len())
}
println!("{:?} {:?} {}", second(&WORDS), second(&[]), 6u32.is_multiple_of(3));
`)
		wantOutput(t, r, "Some(4) None true\n")
		r = imageRun(t, e, s, "rust", "fn main() {\n    let v: Vec<i32> = Vec::new();\n    println!(\"{}\", v[3]);\n}\n")
		if r.Error == nil || r.Error.Type != "panic" || !strings.Contains(r.Error.Message, "index out of bounds") || len(r.Error.Stacktrace) == 0 || r.Error.Stacktrace[len(r.Error.Stacktrace)-1] != "main::main (main.rs:3:21)" {
			t.Errorf("a panic is %+v, want one with the line 3\n%s", r.Error, r.Stderr)
		}
	})
	t.Run("cpp", func(t *testing.T) {
		layer := testutil.Debian(t, "clang", []string{"clang-19", "libstdc++-12-dev"}, "ln -s clang-19 /usr/bin/clang; ln -s clang++-19 /usr/bin/clang++")
		s := create(t, e, ofImage(t, registry, "cpp", layer))
		r := imageRun(t, e, s, "cpp", "#include <iostream>\n#include <expected>\nstruct P { int x; auto operator<=>(const P&) const = default; };\nint main() {\n  std::cout << __clang_major__ << (P{1} < P{2}) << '\\n';\n}\n")
		wantOutput(t, r, "191\n")
		r = imageRun(t, e, s, "c", "int main(void) {\n  return x;\n}\n")
		if r.Error == nil || r.Error.Type != yurt.ErrorTypeCompile || r.Error.Message != "main.c:2:10: use of undeclared identifier 'x'" {
			t.Errorf("an error of the compiler is %+v\n%s", r.Error, r.Stderr)
		}
	})
	t.Run("dotnet", func(t *testing.T) { dotnet(t, e, registry) })
}

// dotnet runs the conformance suite with the .NET SDK of an image.
func dotnet(t *testing.T, e *executor.Executor, registry *testutil.Registry) {
	base := testutil.Debian(t, "dotnet", []string{"libgcc-s1", "libstdc++6", "zlib1g"})
	s := create(t, e, ofImage(t, registry, "dotnet", base, testutil.DotnetLayer(t)))
	r := imageRun(t, e, s, "csharp", "using System.Runtime.InteropServices;\nvar list = new[] { 1, 2, 3 };\nstring text = list[^1] switch { 3 => \"three\", _ => \"other\" };\nConsole.WriteLine($\"{RuntimeInformation.FrameworkDescription}: {text}\");\n")
	wantOutput(t, r, ".NET Core 3.1.2: three\n")
	r = imageRun(t, e, s, "csharp", "var l = new System.Collections.Generic.List<byte[]>();\nfor (;;) l.Add(new byte[50 << 20]);\n")
	if r.Error == nil || r.Error.Type != "System.OutOfMemoryException" || r.ExitCode != 134 {
		t.Errorf("a program that takes too much memory has exit code %d, %+v\n%s", r.ExitCode, r.Error, r.Stderr)
	}
	samples, err := conformance.ReadSamples(os.DirFS(filepath.Join("..", "..", "plugins", "csharp", "testdata", "samples")))
	if err != nil {
		t.Fatal(err)
	}
	execute := func(sandbox string) func(context.Context, yurt.ExecutionSpec) (*yurt.Result, error) {
		return func(ctx context.Context, spec yurt.ExecutionSpec) (*yurt.Result, error) {
			if err := e.StartExecution(ctx, sandbox, spec); err != nil {
				return nil, err
			}
			return e.WaitExecution(ctx, sandbox, spec.ID)
		}
	}
	target := &conformance.Target{Language: "csharp", Samples: samples, Execute: execute(s), ExecuteBare: execute(create(t, e, ofImage(t, registry, "dotnet", base)))}
	for _, c := range conformance.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Check(t.Context(), target); err != nil {
				t.Error(err)
			}
		})
	}
}

// ofImage is the example template for a toolchain, with an image of the layers in place of its own.
func ofImage(t *testing.T, registry *testutil.Registry, name string, layers ...[]byte) yurt.Template {
	t.Helper()
	templates, err := hcl.ParseFiles(filepath.Join("..", "..", "hcl", "examples", name+"-image.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	if len(templates) != 1 || templates[0].RootFS.Image == "" {
		t.Fatalf("the example of %s has no template with an image: %+v", name, templates)
	}
	reference, _ := registry.Push(t, fmt.Sprintf("%s:%d", name, len(layers)), testutil.ImageConfig{Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}}, layers...)
	templates[0].RootFS.Image = reference
	return templates[0]
}

func imageRun(t *testing.T, e *executor.Executor, sandbox, language, code string) *yurt.Result {
	t.Helper()
	return execute(t, e, sandbox, yurt.ExecutionSpec{Kind: yurt.KindCode, Language: language, Code: code})
}

func wantOutput(t *testing.T, r *yurt.Result, want string) {
	t.Helper()
	if r.Stdout != want || r.ExitCode != 0 || r.Error != nil {
		t.Errorf("it prints %q, want %q; exit code %d, %+v\n%s", r.Stdout, want, r.ExitCode, r.Error, r.Stderr)
	}
}
