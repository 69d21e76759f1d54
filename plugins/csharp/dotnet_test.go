package csharp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/compiled/compiledtest"
	"github.com/yurtrun/yurt/plugins/csharp"
	"github.com/yurtrun/yurt/test/testutil"
)

// dotnetHost is a host with a .NET SDK, and without Mono.
func dotnetHost(t *testing.T) compiledtest.Host {
	t.Helper()
	h := compiledtest.NewHost(t)
	dir := testutil.Dotnet(t)
	dotnet := filepath.Join(dir, "dotnet", "dotnet")
	h.Tools = map[string]string{"compiler": dotnet, "dotnet": dotnet, "mcs": "", "mono": ""}
	h.Env = []string{"LD_LIBRARY_PATH=" + filepath.Join(dir, "lib")}
	return h
}

// TestDotnet runs programs with features that Mono lacks, which that of C# 8 has.
func TestDotnet(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ code, want string }{
		"program":              {"using System;\nclass P { static void Main() { Console.WriteLine(\"hello\"); } }\n", "hello\n"},
		"switch expression":    {"int x = 2;\nstring s = x switch { 1 => \"a\", _ => \"b\" };\nConsole.WriteLine(s);", "b\n"},
		"indices and ranges":   {"var a = new[] { 1, 2, 3 };\nConsole.WriteLine(a[^1] + \" \" + string.Join(\",\", a[0..2]));", "3 1,2\n"},
		"nullable references":  {"#nullable enable\nstring? s = null;\nConsole.WriteLine(s ?? \"none\");", "none\n"},
		"using declaration":    {"using var r = new StringReader(\"text\");\nConsole.WriteLine(r.ReadToEnd());", "text\n"},
		"asynchronous streams": {"static async IAsyncEnumerable<int> Count() { for (int i = 0; i < 3; i++) { await Task.Yield(); yield return i; } }\nawait foreach (var i in Count()) Console.Write(i);", "012"},
		"JSON":                 {"using System.Text.Json;\nConsole.WriteLine(JsonSerializer.Serialize(new { a = 1, b = \"ü\" }));", "{\"a\":1,\"b\":\"\\u00FC\"}\n"},
		"HTTP":                 {"Console.WriteLine(new HttpClient().Timeout);", "00:01:40\n"},
		"arguments and input":  {"Console.Write($\"{string.Join(\",\", args)} {Console.In.ReadToEnd()}\");", "-x,a b grüße"},
		"cultures":             {"Console.WriteLine(1234.5.ToString(\"N1\", new System.Globalization.CultureInfo(\"en-US\")) + new DateTime(2024, 2, 29).ToString(\" MMM d\"));", "1,234.5 Feb 29\n"},
		"unsafe code":          {"unsafe { int x = 1; int* p = &x; *p = 2; Console.WriteLine(x); }", "2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := dotnetHost(t).Run(t, csharp.Runtime{}, compiledtest.Snippet(tt.code, "-x", "a b"), "grüße")
			if out.Stdout != tt.want || out.Code != 0 {
				t.Errorf("exit code %d, stdout %q, want %q\n%s", out.Code, out.Stdout, tt.want, out.Stderr)
			}
		})
	}
}

// aborted is how a process of .NET ends after an exception, as Go's exec tells of it; in a sandbox that is 134.
const aborted = -1

func TestDotnetFailures(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		code       string
		exit       int
		kind, text string
		stack      []string
	}{
		"compile error": {
			"int x = 1;\n  x = \"a\";\nFoo();\n", 1, yurt.ErrorTypeCompile, "main.cs:2:7: Cannot implicitly convert type 'string' to 'int' [CS0029] (and 1 more)",
			[]string{"main.cs:2:7: Cannot implicitly convert type 'string' to 'int' [CS0029]", "main.cs:3:1: The name 'Foo' does not exist in the current context [CS0103]"},
		},
		"exception": {
			"using System;\nclass My : Exception { public My(Exception i) : base(\"bad\\nthing\", i) {} }\nvoid F() { throw new InvalidOperationException(\"inner\"); }\ntry { F(); } catch (Exception e) {\n  throw new My(e); }\n",
			aborted, "My", "bad\nthing",
			[]string{"Program.Main(String[] args) (main.cs:5)", "Program.Main(String[] args) (main.cs:4)", "Program.F() (main.cs:3)"},
		},
		"exception of a task": {
			"async Task F() {\n  await Task.Yield();\n  throw new ArgumentException(\"wrong\"); }\nawait F();\n", aborted, "System.ArgumentException", "wrong",
			[]string{"Program.Main(String[] args) (main.cs:4)", "Program.F() (main.cs:3)"},
		},
		"stack overflow": {
			"static int F(Dictionary<string, int> d, int n) { return F(d, n + 1) + 1; }\nF(null, 0);\n",
			aborted, "System.StackOverflowException", "The requested operation caused a stack overflow.", nil,
		},
		"out of memory":     {"var l = new List<byte[]>();\nfor (;;) l.Add(new byte[50 << 20]);\n", aborted, "System.OutOfMemoryException", "Exception of type 'System.OutOfMemoryException' was thrown.", nil},
		"exit code":         {"Environment.Exit(7);\n", 7, "", "", nil},
		"exit code of Main": {"if (args.Length == 0) return 8;\nConsole.WriteLine(1);\n", 8, "", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := dotnetHost(t).Run(t, csharp.Runtime{}, compiledtest.Snippet(tt.code), "")
			out.Check(t, tt.exit, tt.kind, tt.text, tt.stack)
		})
	}
}

// TestDotnetProject runs a project whose entry is in a directory of its own.
func TestDotnetProject(t *testing.T) {
	t.Parallel()
	out := dotnetHost(t).Run(t, csharp.Runtime{}, compiledtest.Project("app/Main.cs", map[string]string{
		"app/Main.cs":  "using System;\nclass P {\n  static void Main() {\n    Console.WriteLine(Lib.Greet.Hello());\n    Lib.Greet.Fail();\n  }\n}\n",
		"lib/Greet.cs": "namespace Lib {\n  public static class Greet {\n    public static string Hello() => \"hello\";\n    public static void Fail() { throw new System.Exception(\"über\"); }\n  }\n}\n",
	}), "")
	if out.Stdout != "hello\n" {
		t.Errorf("stdout %q, want hello\n%s", out.Stdout, out.Stderr)
	}
	out.Check(t, aborted, "System.Exception", "über", []string{"P.Main() (app/Main.cs:5)", "Lib.Greet.Fail() (lib/Greet.cs:4)"})
}

// TestDotnetRuntimeAlone has a runtime of .NET without an SDK: Mono compiles where it is there, else the error says so.
func TestDotnetRuntimeAlone(t *testing.T) {
	t.Parallel()
	h := dotnetHost(t)
	dotnet := filepath.Join(t.TempDir(), "dotnet")
	if err := os.WriteFile(dotnet, []byte("#!/bin/sh\nexit 9\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.Tools["dotnet"], h.Tools["compiler"] = dotnet, dotnet
	out := h.Run(t, csharp.Runtime{}, compiledtest.Snippet("Console.WriteLine(args.Length);"), "")
	if out.Err == nil || !strings.Contains(out.Err.Message, "has no SDK") || !strings.Contains(out.Err.Message, "install the .NET SDK") {
		t.Errorf("without Mono the error is %+v, want one that says what to install", out.Err)
	}
	delete(h.Tools, "mcs")
	delete(h.Tools, "mono")
	out = h.Run(t, csharp.Runtime{}, compiledtest.Snippet("Console.WriteLine(args.Length + args[1]);", "-x", "a b"), "")
	if out.Stdout != "2a b\n" || out.Code != 0 {
		t.Errorf("with Mono: exit code %d, stdout %q, want 2a b\n%s", out.Code, out.Stdout, out.Stderr)
	}
}
