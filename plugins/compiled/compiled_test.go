package compiled_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/compiled"
)

func dialects() []compiled.Dialect {
	return []compiled.Dialect{{}, {Nested: true, Lifetimes: true}, {Backquote: true}, {Triple: true}, {Verbatim: true}, {Delimited: true}}
}

func TestBlank(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		dialect    compiled.Dialect
		code, want string
	}{
		{"comments", compiled.Dialect{}, "a // b\nc /* d\n*/ e", "a     \nc     \n   e"},
		{"strings", compiled.Dialect{}, `a "b\"c" 'd' '\'' e`, `a                 e`},
		{"an apostrophe that nothing ends", compiled.Dialect{}, "a 'b\nc", "a   \nc"},
		{"nested comments", compiled.Dialect{Nested: true}, "a /* b /* c */ d */ e", "a                   e"},
		{"lifetimes", compiled.Dialect{Lifetimes: true}, `<'a> 'b' '\n' r#"c"d"# for"e"`, `<'a>                   for   `},
		{"raw strings of Go", compiled.Dialect{Backquote: true}, "a `b\\` \"`\"", "a         "},
		{"text blocks", compiled.Dialect{Triple: true}, "a \"\"\"\n\"b\"\n\"\"\" c", "a    \n   \n    c"},
		{"verbatim strings", compiled.Dialect{Verbatim: true}, `a @"b\" c $@"d""e" f`, `a       c          f`},
		{"delimited strings", compiled.Dialect{Delimited: true}, `a R"x(b)" )x" c 1'000 'd'`, `a             c 1'000    `},
		{"open at the end", compiled.Dialect{}, `a "b\`, `a    `},
	}
	for _, tt := range tests {
		if got := compiled.Blank(tt.code, tt.dialect); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestParseLocated(t *testing.T) {
	t.Parallel()
	tests := map[string]compiled.Diagnostic{
		"a.c:1:2: error: x: y": {File: "a.c", Line: 1, Column: 2, Message: "error: x: y"},
		"a.c:10: x":            {File: "a.c", Line: 10, Message: "x"},
		"a:b/c.go:3:4: 5:6: z": {File: "a:b/c.go", Line: 3, Column: 4, Message: "5:6: z"},
		"../x y/z.go:3:4: z":   {File: "../x y/z.go", Line: 3, Column: 4, Message: "z"},
	}
	for line, want := range tests {
		if got, ok := compiled.ParseLocated(line); !ok || got != want {
			t.Errorf("%q: %+v, %v", line, got, ok)
		}
	}
	for _, line := range []string{"", ":", ":1: x", "a.c", "a.c:x: y", "a.c:0: y", "a.c:99999999999999999999: y", "a.c:1"} {
		if got, ok := compiled.ParseLocated(line); ok {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

func TestCompileError(t *testing.T) {
	t.Parallel()
	failure := plugins.Failure{Root: "/workspace", Dir: "/run/yurt/x", OutDir: "/tmp/o", Output: []byte("what it printed\n")}
	list := []compiled.Diagnostic{
		{File: "/run/yurt/x/main.c", Line: 3, Column: 4, Message: "bad"},
		{File: "./a/../b.c", Line: 1, Message: "worse"},
		{File: "../run/yurt/x/main.c", Message: "odd"},
		{File: "/usr/include/x.h", Line: 2, Message: "theirs"},
		{Message: "no place"},
	}
	got := compiled.CompileError(list, failure)
	want := []string{"main.c:3:4: bad", "b.c:1: worse", "main.c: odd", "/usr/include/x.h:2: theirs", "no place"}
	if got.Type != yurt.ErrorTypeCompile || got.Message != "main.c:3:4: bad (and 4 more)" || !slices.Equal(got.Stacktrace, want) {
		t.Errorf("got %+v", got)
	}
	if got := compiled.CompileError(nil, failure); got.Message != "what it printed" {
		t.Errorf("got %+v", got)
	}
	failure.Signal = 11
	if got := compiled.CompileError(nil, failure); !strings.HasPrefix(got.Message, "the compiler crashed (segmentation fault)") || !strings.HasSuffix(got.Message, "\nwhat it printed") {
		t.Errorf("got %+v", got)
	}
	many := compiled.CompileError(slices.Repeat(list[:1], 1000), failure)
	if len(many.Stacktrace) != 100 || !strings.HasSuffix(many.Message, "(and 999 more)") {
		t.Errorf("%d lines, %q", len(many.Stacktrace), many.Message)
	}
}

// TestLargeInput: input that would take hours if time were not linear in the length.
func TestLargeInput(t *testing.T) {
	t.Parallel()
	const size = 128 << 10
	for _, unit := range []string{"\n", "{", "}", ";", "'", "#", "\"", "/*", "a", " #", "={}", "a={} ", "r#", "@", "struct s {}", "a:1", "R\"("} {
		text := strings.Repeat(unit, size/len(unit))
		for _, dialect := range dialects() {
			blank := compiled.Blank(text, dialect)
			for _, splitter := range splitters() {
				splitter.Split(text, blank)
			}
			compiled.HasFunction(blank, "main")
		}
		compiled.ParseLocated(text)
	}
}

func splitters() []compiled.Splitter {
	return []compiled.Splitter{{}, {Newlines: true}, {Directives: true, Semicolons: true}}
}

// FuzzSplit: the pieces are the code, in order, and know where they begin.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		"", " ", "\n;\n", "#include <x>\n#define A \\\n B\nint f() { return 1; } struct s { int a; } b = {1};", "package main\nfunc f() {\n}\nx := 1",
		"import a.b;\nclass A { }\n// end", "'a \"b /* r#\"\n", "}{;};", "x = {1};y", "é ;\tü{}\r\n", "#\n#", "struct s {}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, code string) {
		for _, dialect := range dialects() {
			blank := compiled.Blank(code, dialect)
			if len(blank) != len(code) || strings.Count(blank, "\n") != strings.Count(code, "\n") {
				t.Fatalf("blanked it is %q", blank)
			}
			for _, splitter := range splitters() {
				var whole strings.Builder
				for _, piece := range splitter.Split(code, blank) {
					if piece.Line < 1 || piece.Column < 1 {
						t.Fatalf("a piece at %d:%d", piece.Line, piece.Column)
					}
					piece.DefinesFunction()
					whole.WriteString(piece.Text)
				}
				if got := whole.String(); got != code && strings.ContainsFunc(blank, func(r rune) bool { return r > ' ' }) {
					t.Fatalf("together they are %q of %q", got, code)
				}
			}
		}
	})
}
