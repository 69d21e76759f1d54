package csharp_test

import (
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/compiled/compiledtest"
	"github.com/yurtrun/yurt/plugins/csharp"
)

// TestHints compiles programs with features that Mono lacks.
func TestHints(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"int x = 2;\nstring s = x switch { 1 => \"a\", _ => \"b\" };":          "switch expressions are C# 8",
		"record R(int X);\nConsole.WriteLine(new R(1));":                       "records are C# 9",
		"var a = new[] { 1, 2 };\nConsole.WriteLine(a[^1]);":                   "indices from the end and ranges are C# 8",
		"var a = new[] { 1, 2 };\nvar b = a[0..1];":                            "indices from the end and ranges are C# 8",
		"#nullable enable\nConsole.WriteLine(1);":                              "nullable reference types are C# 8",
		"string? s = null;\nConsole.WriteLine(s);":                             "nullable reference types are C# 8",
		"using var s = new StringReader(\"a\");":                               "using declarations are C# 8",
		"string s = null;\ns ??= \"a\";":                                       "the operator ??= is C# 8",
		"object x = 2;\nif (x is not null) Console.WriteLine(1);":              "combined and relational patterns are C# 9",
		"List<int> l = new();":                                                 "new without a type is C# 9",
		"class Q { public int X { get; init; } }\nConsole.WriteLine(new Q());": "init accessors are C# 9",
		"namespace A;\nclass P { static void Main() { } }":                     "file-scoped namespaces are C# 10",
		"global using System;\nclass P { static void Main() { } }":             "global using directives are C# 10",
		"Console.WriteLine(\"\"\"a\"\"\");":                                    "raw strings are C# 11",
		"int[] a = [1, 2];":                                                    "collection expressions are C# 12",
		"class Q(int x) { public int Y => x; }\nConsole.WriteLine(1);":         "primary constructors are C# 12",
		"Console.WriteLine(System.Text.Json.JsonSerializer.Serialize(1));":     "System.Text.Json is a library of .NET",
		"int x = \"a\"; // no record R(int X)":                                 "",
	} {
		t.Run(strings.ReplaceAll(want+code[:6], "??=", ""), func(t *testing.T) {
			t.Parallel()
			out := compiledtest.NewHost(t).Run(t, csharp.Runtime{}, compiledtest.Snippet(code), "")
			switch {
			case out.Err == nil || out.Err.Type != yurt.ErrorTypeCompile:
				t.Errorf("%s\nhas the error %+v, want a CompileError\n%s", code, out.Err, out.Stderr)
			case want == "" && strings.Contains(out.Err.Message, "Mono"), !strings.Contains(out.Err.Message, want):
				t.Errorf("%s\nhas the message %q, want the hint %q", code, out.Err.Message, want)
			}
		})
	}
}
