package csharp_test

import (
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/compiled/compiledtest"
	"github.com/yurtrun/yurt/plugins/csharp"
)

func TestSnippets(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ code, stdin, want string }{
		"program": {"using System;\nclass P { static void Main() { Console.WriteLine(\"hello\"); } }\n", "", "hello\n"},
		"statements": {
			"using System;\nusing System.Linq;\nclass T { public int X = 3; }\nstatic int Twice(int x) { return 2 * x; }\nvar l = new[] { 1, 2 };\nforeach (var i in l) { Console.WriteLine(Twice(i)); }\n" +
				"using (var r = new System.IO.StringReader(@\"}\"\"\")) { Console.WriteLine(r.ReadToEnd() + new T().X + l.Sum()); }\n", "", "2\n4\n}\"33\n",
		},
		"usual directives": {
			"using System.Linq;\nvar l = new List<int> { 1, 2 };\nConsole.WriteLine(l.Select(i => i + 1).Sum() + \" \" + Path.GetFileName(\"a/b\") + new StringBuilder(\"c\") + Task.FromResult(1).Result + Thread.CurrentThread.IsAlive);", "", "5 bc1True\n",
		},
		"usual directives of a program": {"class P { static void Main() { Console.WriteLine(new List<int>().Count); } }", "", "0\n"},
		"symbols of a program":          {"#define A\nusing System;\nclass P { static void Main() {\n#if A\nConsole.WriteLine(1);\n#endif\n} }", "", "1\n"},
		"arguments and stdin":           {"using System;\nConsole.Write($\"{string.Join(\",\", args)} {Console.In.ReadToEnd()}\");", "grüße", "-x,a b grüße"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := compiledtest.NewHost(t).Run(t, csharp.Runtime{}, compiledtest.Snippet(tt.code, "-x", "a b"), tt.stdin)
			if out.Stdout != tt.want || out.Code != 0 {
				t.Errorf("exit code %d, stdout %q, want %q\n%s", out.Code, out.Stdout, tt.want, out.Stderr)
			}
		})
	}
}

func TestProject(t *testing.T) {
	t.Parallel()
	out := compiledtest.NewHost(t).Run(t, csharp.Runtime{}, compiledtest.Project("app/Main.cs", map[string]string{
		"app/Main.cs":  "using System;\nclass P { static void Main() { Console.WriteLine(Lib.Greet.Hello()); } }\n",
		"lib/Greet.cs": "namespace Lib { public static class Greet { public static string Hello() { return \"hello\"; } } }\n",
		"README":       "",
	}), "")
	if out.Stdout != "hello\n" || out.Code != 0 {
		t.Errorf("exit code %d, stdout %q\n%s", out.Code, out.Stdout, out.Stderr)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		code       string
		exit       int
		kind, text string
		stack      []string
	}{
		"compile error": {
			"int x = 1;\n  x = \"a\";\nFoo();\n", 1, yurt.ErrorTypeCompile, "main.cs:2:7: Cannot implicitly convert type `string' to `int' [CS0029] (and 1 more)",
			[]string{"main.cs:2:7: Cannot implicitly convert type `string' to `int' [CS0029]", "main.cs:3:1: The name `Foo' does not exist in the current context [CS0103]"},
		},
		"syntax error": {"class P { static void Main() {\n  int x = 5 }\n}\n", 1, yurt.ErrorTypeCompile, "main.cs:2:12: Unexpected symbol `}', expecting `,' or `;' [CS1525]", nil},
		"exception": {
			"using System;\nclass My : Exception { public My(Exception i) : base(\"bad\\nthing\", i) {} }\nstatic void F() { try { throw new InvalidOperationException(\"inner\"); } finally { Console.Write(1); } }\ntry { F(); } catch (Exception e) {\n  throw new My(e); }\n",
			1, "My", "bad\nthing",
			[]string{"Program.Main (System.String[] args) (main.cs:5)", "Program.Main (System.String[] args) (main.cs:4)", "Program.F () (main.cs:3)"},
		},
		"stack overflow": { // 1024 frames come after the type of the error
			"static int F(System.Collections.Generic.Dictionary<string, int> d, int n) { return F(d, n + 1) + 1; }\nF(null, 0);\n",
			1, "System.StackOverflowException", "The requested operation caused a stack overflow.", nil,
		},
		"exit code": {"System.Environment.Exit(7);\n", 7, "", "", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := compiledtest.NewHost(t).Run(t, csharp.Runtime{}, compiledtest.Snippet(tt.code), "")
			out.Check(t, tt.exit, tt.kind, tt.text, tt.stack)
		})
	}
}
