package languages

import (
	"slices"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/hcl"
	"github.com/yurtrun/yurt/plugins/compiled/compiledtest"
	"github.com/yurtrun/yurt/plugins/golang"
	"github.com/yurtrun/yurt/test/testutil"
)

// language has the programs that are tried in each language.
type language struct {
	name                   string
	echo                   string // prints its arguments and its input, exits with 7
	entry                  string
	project                map[string]string // prints hello
	wrong                  string            // is refused in line 3
	wrongPlace             string
	wrongFirst             string // is refused in the second statement of its first line
	firstPlace             string
	crash                  string // fails in line 2
	crashType, crashText   string
	crashExit              int
	crashStack, oneMissing string
}

func all() []language {
	return []language{
		{
			name:  "go",
			echo:  "package main\n\nimport (\n\t\"fmt\"\n\t\"io\"\n\t\"os\"\n)\n\nfunc main() {\n\tdata, _ := io.ReadAll(os.Stdin)\n\tfmt.Print(os.Args[1], \"|\", os.Args[2], \"|\", string(data))\n\tos.Exit(7)\n}\n",
			entry: "main.go", project: map[string]string{
				"main.go": "package main\n\nimport \"app/greet\"\n\nfunc main() { greet.Hello() }\n", "greet/greet.go": "package greet\n\nimport \"fmt\"\n\nfunc Hello() { fmt.Println(\"hello\") }\n",
			},
			wrong: "import \"fmt\"\n\nfmt.Println(x)\n", wrongPlace: "main.go:3:13: undefined: x",
			wrongFirst: "print(1); f()\n", firstPlace: "main.go:1:11: undefined: f",
			crash: "func f(a []int) int {\n\treturn a[5]\n}\nf(nil)\n", crashType: "RuntimeError", crashText: "index out of range [5] with length 0", crashExit: 2, crashStack: "main.f (main.go:2)",
			oneMissing: "go",
		},
		{
			name:  "rust",
			echo:  "use std::io::Read;\nfn main() {\n    let mut s = String::new();\n    std::io::stdin().read_to_string(&mut s).unwrap();\n    let a: Vec<String> = std::env::args().collect();\n    print!(\"{}|{}|{}\", a[1], a[2], s);\n    std::process::exit(7);\n}\n",
			entry: "src/main.rs", project: map[string]string{"src/main.rs": "mod greet;\nfn main() { greet::hello(); }\n", "src/greet.rs": "pub fn hello() { println!(\"hello\"); }\n"},
			wrong: "fn main() {\n\n    f();\n}\n", wrongPlace: "main.rs:3:5: cannot find function `f` in this scope [E0425]",
			wrongFirst: "println!(\"ä\"); f();\n", firstPlace: "main.rs:1:16: cannot find function `f` in this scope [E0425]",
			crash: "fn main() {\n    panic!(\"über\");\n}\n", crashType: "panic", crashText: "über", crashExit: 101, crashStack: "main::main (main.rs:2:5)",
			oneMissing: "rustc",
		},
		{
			name:  "java",
			echo:  "import java.nio.charset.StandardCharsets;\nSystem.out.print(args[0] + \"|\" + args[1] + \"|\" + new String(System.in.readAllBytes(), StandardCharsets.UTF_8));\nSystem.exit(7);\n",
			entry: "src/app/Main.java", project: map[string]string{
				"src/app/Main.java":  "package app;\npublic class Main { public static void main(String[] a) { lib.Greet.hello(); } }\n",
				"src/lib/Greet.java": "package lib;\npublic class Greet { public static void hello() { System.out.println(\"hello\"); } }\n",
			},
			wrong: "public class A {\n  public static void main(String[] a) {\n    f();\n  }\n}\n", wrongPlace: "A.java:3:5: cannot find symbol: method f()",
			wrongFirst: "int a = 1; f();\n", firstPlace: "Main.java:1:12: cannot find symbol: method f()",
			crash: "String s = null;\nthrow new IllegalStateException(\"über\");\n", crashType: "java.lang.IllegalStateException", crashText: "über", crashExit: 1, crashStack: "Main.main(Main.java:2)",
			oneMissing: "javac",
		},
		{
			name:  "c",
			echo:  "#include <stdio.h>\nint main(int argc, char **argv) {\n  char s[20] = \"\";\n  fgets(s, sizeof s, stdin);\n  printf(\"%s|%s|%s\", argv[1], argv[2], s);\n  return 7;\n}\n",
			entry: "main.c", project: map[string]string{"main.c": "#include \"greet.h\"\nint main(void) { hello(); }\n", "include/greet.h": "void hello(void);\n", "src/greet.c": "#include <stdio.h>\nvoid hello(void) { puts(\"hello\"); }\n"},
			wrong: "int main(void) {\n\n  f(x);\n}\n", wrongPlace: "main.c:3:5: ‘x’ undeclared (first use in this function)",
			wrongFirst: "int a = 1; a = f;\n", firstPlace: "main.c:1:16: ‘f’ undeclared (first use in this function)",
			crash: "#include <assert.h>\nint main(void) { assert(1 > 2); }\n", crashType: "Assertion", crashText: "1 > 2", crashExit: 134, crashStack: "main (main.c:2)",
			oneMissing: "cc",
		},
		{
			name:  "cpp",
			echo:  "#include <cstdlib>\n#include <iostream>\nint main(int argc, char **argv) {\n  std::string s;\n  std::getline(std::cin, s);\n  std::cout << argv[1] << \"|\" << argv[2] << \"|\" << s;\n  return 7;\n}\n",
			entry: "main.cpp", project: map[string]string{"main.cpp": "#include \"greet.h\"\nint main() { hello(); }\n", "greet.h": "void hello();\n", "greet.cc": "#include <cstdio>\nvoid hello() { puts(\"hello\"); }\n"},
			wrong: "int main() {\n\n  f();\n}\n", wrongPlace: "main.cpp:3:3: ‘f’ was not declared in this scope",
			wrongFirst: "int a = 1; f();\n", firstPlace: "main.cpp:1:12: ‘f’ was not declared in this scope",
			crash: "#include <stdexcept>\nint main() { throw std::runtime_error(\"über\"); }\n", crashType: "std::runtime_error", crashText: "über", crashExit: 134,
			oneMissing: "c++",
		},
		{
			name:  "csharp",
			echo:  "using System;\nclass P {\n  static int Main(string[] a) {\n    Console.Write(a[0] + \"|\" + a[1] + \"|\" + Console.In.ReadToEnd());\n    return 7;\n  }\n}\n",
			entry: "app/Main.cs", project: map[string]string{"app/Main.cs": "class P { static void Main() { Greet.Hello(); } }\n", "Greet.cs": "static class Greet { public static void Hello() { System.Console.WriteLine(\"hello\"); } }\n"},
			wrong: "using System;\n\nFoo();\n", wrongPlace: "main.cs:3:1: The name `Foo' does not exist in the current context [CS0103]",
			wrongFirst: "int a = 1; Foo();\n", firstPlace: "main.cs:1:12: The name `Foo' does not exist in the current context [CS0103]",
			crash: "using System;\nthrow new Exception(\"über\");\n", crashType: "System.Exception", crashText: "über", crashExit: 1, crashStack: "Program.Main (System.String[] args) (main.cs:2)",
			oneMissing: "compiler",
		},
	}
}

// TestLanguages runs everything of a language in one sandbox, as a user would.
func TestLanguages(t *testing.T) {
	testutil.NeedsSandboxes(t)
	cache := compiledtest.GoCache(t)
	config := testutil.Config(t, testutil.Build(t))
	config.Transient = true
	config.HostPaths = append(yurt.OfferedHostPaths(), cache)
	e := testutil.Start(t, config)
	for _, l := range all() {
		t.Run(l.name, func(t *testing.T) {
			template := templateOf(t, l.name)
			if l.name == "go" {
				template.RootFS.HostPaths = append(template.RootFS.HostPaths, cache)
				template.Env[golang.CacheEnv] = cache
			}
			l.try(t, e, create(t, e, template))
		})
	}
}

func (l language) try(t *testing.T, e *executor.Executor, sandbox string) {
	t.Run("arguments, stdin and exit code", func(t *testing.T) {
		r := l.run(t, e, sandbox, yurt.ExecutionSpec{Code: l.echo, Args: []string{"-x", "ä b"}, Stdin: []byte("grüße")})
		if r.Stdout != "-x|ä b|grüße" || r.ExitCode != 7 || r.Error != nil {
			t.Errorf("stdout %q, exit code %d, %+v\n%s", r.Stdout, r.ExitCode, r.Error, r.Stderr)
		}
	})
	t.Run("project", func(t *testing.T) {
		spec := yurt.ExecutionSpec{Entry: l.entry, Cwd: "/workspace/my project"}
		for path, text := range l.project {
			spec.Files = append(spec.Files, yurt.SourceFile{Path: path, Data: []byte(text)})
		}
		r := l.run(t, e, sandbox, spec)
		if r.Stdout != "hello\n" || r.ExitCode != 0 || r.Error != nil {
			t.Errorf("stdout %q, exit code %d, %+v\n%s", r.Stdout, r.ExitCode, r.Error, r.Stderr)
		}
	})
	t.Run("compile error", func(t *testing.T) {
		r := l.run(t, e, sandbox, yurt.ExecutionSpec{Code: l.wrong})
		if r.Error == nil || r.Error.Type != yurt.ErrorTypeCompile || r.Error.Message != l.wrongPlace || r.ExitCode != 1 || !strings.Contains(r.Stderr, "error") && l.name != "go" {
			t.Errorf("exit code %d, %+v\n%s", r.ExitCode, r.Error, r.Stderr)
		}
	})
	t.Run("compile error in the first line", func(t *testing.T) {
		r := l.run(t, e, sandbox, yurt.ExecutionSpec{Code: l.wrongFirst})
		if r.Error == nil || r.Error.Message != l.firstPlace {
			t.Errorf("%+v, want %q", r.Error, l.firstPlace)
		}
		wantAsWritten(t, r, l.wrongFirst)
	})
	t.Run("run-time error", func(t *testing.T) {
		r := l.run(t, e, sandbox, yurt.ExecutionSpec{Code: l.crash})
		if r.Error == nil || r.Error.Type != l.crashType || r.Error.Message != l.crashText || r.ExitCode != l.crashExit ||
			l.crashStack != "" && !slices.Contains(r.Error.Stacktrace, l.crashStack) {
			t.Errorf("exit code %d, %+v\n%s", r.ExitCode, r.Error, r.Stderr)
		}
		if strings.Contains(r.Stderr, "/run/yurt") {
			t.Errorf("a path of the run shows:\n%s", r.Stderr)
		}
	})
	t.Run("nothing is left in the workspace", func(t *testing.T) {
		r := execute(t, e, sandbox, yurt.ExecutionSpec{Kind: yurt.KindCommand, Command: []string{"ls", "-A", "/workspace"}})
		if r.Stdout != "my project\n" {
			t.Errorf("it holds %q", r.Stdout)
		}
	})
	t.Run("missing toolchain", func(t *testing.T) {
		template := templateOf(t, l.name)
		template.RootFS.HostPaths = []string{"/lib64"}
		spec := complete(l.spec(yurt.ExecutionSpec{Code: l.echo}))
		err := e.StartExecution(t.Context(), create(t, e, template), spec)
		if yurt.CodeOf(err) != yurt.CodeLanguageNotSupported || !strings.Contains(err.Error(), "has no "+l.oneMissing+",") || !strings.Contains(err.Error(), "install") {
			t.Errorf("error %v", err)
		}
	})
}

// wantAsWritten checks that a compiler shows the line of the code as the user wrote it, if it shows
// it at all, and no path of the run.
func wantAsWritten(t *testing.T, r *yurt.Result, code string) {
	t.Helper()
	code = strings.TrimSpace(code)
	for line := range strings.Lines(r.Stderr) {
		if strings.Contains(line, "/run/yurt") || strings.Contains(line, code) && strings.TrimLeft(line, " 0123456789|") != code+"\n" {
			t.Errorf("the compiler's output tells of more than the user wrote:\n%s", r.Stderr)
		}
	}
}

func (l language) spec(spec yurt.ExecutionSpec) yurt.ExecutionSpec {
	spec.Kind, spec.Language = yurt.KindCode, l.name
	return spec
}

func (l language) run(t *testing.T, e *executor.Executor, sandbox string, spec yurt.ExecutionSpec) *yurt.Result {
	t.Helper()
	return execute(t, e, sandbox, l.spec(spec))
}

func execute(t *testing.T, e *executor.Executor, sandbox string, spec yurt.ExecutionSpec) *yurt.Result {
	t.Helper()
	spec = complete(spec)
	if err := e.StartExecution(t.Context(), sandbox, spec); err != nil {
		t.Fatalf("starting: %v", err)
	}
	r, err := e.WaitExecution(t.Context(), sandbox, spec.ID)
	if err != nil {
		t.Fatalf("waiting: %v", err)
	}
	return r
}

func complete(spec yurt.ExecutionSpec) yurt.ExecutionSpec {
	spec.ID = yurt.NewExecutionID()
	spec.Timeout, spec.OutputLimit = yurt.Duration(yurt.DefaultExecutionTimeout), yurt.DefaultOutputLimit
	return spec
}

// templateOf returns the template that ships for a language.
func templateOf(t *testing.T, name string) yurt.Template {
	t.Helper()
	templates, err := hcl.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(templates, func(tpl yurt.Template) bool { return tpl.Name == name+"-basic" })
	if i < 0 {
		t.Fatalf("there is no template %s-basic", name)
	}
	return templates[i]
}

func create(t *testing.T, e *executor.Executor, template yurt.Template) string {
	t.Helper()
	s, err := e.CreateSandbox(t.Context(), yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: template, Resources: template.Resources})
	if err != nil {
		t.Fatalf("creating a sandbox: %v", err)
	}
	return s.ID
}
