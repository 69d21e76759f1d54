package golang_test

import (
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/compiled/compiledtest"
	"github.com/yurtrun/yurt/plugins/golang"
)

// newHost returns a host with a shared cache that outlives the test: the standard
// library is compiled once on a machine.
func newHost(t *testing.T) compiledtest.Host {
	t.Helper()
	h := compiledtest.NewHost(t)
	h.Env = []string{golang.CacheEnv + "=" + compiledtest.GoCache(t)}
	return h
}

func TestSnippets(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ code, stdin, want string }{
		"program":    {"package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n", "", "hello\n"},
		"statements": {"import \"fmt\"\nx := 2\nfor i := range 2 {\n\tfmt.Println(x + i)\n}\n", "", "2\n3\n"},
		"declarations": {
			"import (\n\t\"fmt\"\n\t\"strings\"\n)\n\nvar greeting = \"hi\"\ntype T struct{ n int }\nfunc (t T) Twice() int { return 2 * t.n }\n" +
				"func up(s string) string { return strings.ToUpper(s) }\nconst k = 4\nfmt.Println(up(greeting), T{k}.Twice())\nfunc() { fmt.Println(`a\n}`) }()\n", "", "HI 8\na\n}\n",
		},
		"imports of usual packages": {
			"strings := []string{\"strings.ToUpper\"} // sort.Ints\nb, _ := json.Marshal(strings)\nfmt.Println(string(b), filepath.Base(\"a/b\"), len(os.Args))\n" +
				"func f(time int) int { return time }\nfmt.Println(f(2))\n", "", "[\"strings.ToUpper\"] b 3\n2\n",
		},
		"imports beside the user's": {"import (\n\"crypto/rand\"\nstr \"strings\"\n)\nb := make([]byte, 2)\nrand.Read(b)\nfmt.Println(len(b), str.ToUpper(\"a\"), math.Max(1, 2))\n", "", "2 A 2\n"},
		"main without a package":    {"import \"fmt\"\n\nvar n = 3\n\nfunc main() { fmt.Println(n) }\n", "", "3\n"},
		"arguments and stdin": {
			"import (\n\"fmt\"\n\"io\"\n\"os\"\n)\ndata, _ := io.ReadAll(os.Stdin)\nfmt.Printf(\"%q %s\", os.Args[1:], data)\n", "grüße", `["-x" "a b"] grüße`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := newHost(t).Run(t, golang.Runtime{}, compiledtest.Snippet(tt.code, "-x", "a b"), tt.stdin)
			if out.Stdout != tt.want || out.Code != 0 {
				t.Errorf("exit code %d, stdout %q, want %q\n%s", out.Code, out.Stdout, tt.want, out.Stderr)
			}
		})
	}
}

func TestProjects(t *testing.T) {
	t.Parallel()
	const main = "package main\n\nimport (\n\t\"fmt\"\n\n\t\"MODULE/greet\"\n)\n\nfunc main() { fmt.Println(greet.Hello(name())) }\n"
	files := func(dir, module string) map[string]string {
		return map[string]string{
			dir + "main.go":  strings.ReplaceAll(main, "MODULE", module),
			dir + "name.go":  "package main\n\nfunc name() string { return \"Gö\" }\n",
			"greet/greet.go": "package greet\n\n// Hello greets.\nfunc Hello(s string) string { return \"hello \" + s }\n",
		}
	}
	withModule := files("cmd/tool/", "example.com/m")
	withModule["go.mod"] = "module example.com/m\n\ngo 1.21\n"
	for name, req := range map[string]plugins.PlanRequest{
		"no module":          compiledtest.Project("main.go", files("", "app")),
		"no module, below":   compiledtest.Project("cmd/tool/main.go", files("cmd/tool/", "app")),
		"module":             compiledtest.Project("cmd/tool/main.go", withModule),
		"module in a folder": compiledtest.Project("sub/main.go", map[string]string{"sub/main.go": "package main\n\nfunc main() { println(); print(\"hello Gö\\n\") }\n", "sub/go.mod": "module m\n"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := newHost(t).Run(t, golang.Runtime{}, req, "")
			if got := out.Stdout + out.Stderr; !strings.Contains(got, "hello Gö\n") || out.Code != 0 {
				t.Errorf("exit code %d, %q", out.Code, got)
			}
		})
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
			"import \"fmt\"\n\nx := 1\nfmt.Println(y)\n", 1, yurt.ErrorTypeCompile, "main.go:4:13: undefined: y (and 1 more)",
			[]string{"main.go:4:13: undefined: y", "main.go:3:1: declared and not used: x"},
		},
		"syntax error": {
			"package main\n\nfunc main() {\n\tif {\n}\n", 1, yurt.ErrorTypeCompile, "main.go:4:5: syntax error: missing condition in if statement", nil,
		},
		"missing package": {
			"import \"nosuch/package\"\n", 1, yurt.ErrorTypeCompile, "main.go:1:8: package nosuch/package is not in std (/usr/local/go/src/nosuch/package)", nil,
		},
		"no program": {"package other\n", 1, yurt.ErrorTypeCompile, "-buildmode=exe requires exactly one main package", nil},
		"panic": {
			"import \"errors\"\n\nfunc f() {\n\tpanic(errors.New(\"bad\\nthing\"))\n}\nf()\n", 2, "panic", "bad\nthing",
			[]string{"main.main (main.go:6)", "main.f (main.go:4)"},
		},
		"index": {
			"a := []int{1}\ni := 5\nprintln(a[i])\n", 2, "RuntimeError", "index out of range [5] with length 1", []string{"main.main (main.go:3)"},
		},
		"deadlock":  {"select {}\n", 2, "FatalError", "all goroutines are asleep - deadlock!", []string{"main.main (main.go:1)"}},
		"exit code": {"import \"os\"\nos.Exit(7)\n", 7, "", "", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := newHost(t).Run(t, golang.Runtime{}, compiledtest.Snippet(tt.code), "")
			out.Check(t, tt.exit, tt.kind, tt.text, tt.stack)
		})
	}
}
