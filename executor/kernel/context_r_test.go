package kernel_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
)

func ofR(s *yurt.ExecutionSpec) { s.Language = "r" }

func TestRState(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, runs("r"))
	n.want("", "x <- 20; double <- function(n) 2 * n", ofR)
	n.want("[1] 40\n", "print(double(x))", ofR)
	for code, want := range map[string]string{
		"x + 1": "21", "c(a = 1, b = 2.5)": `{"a":1,"b":2.5}`, "c('é', NA)": `["é",null]`, "list(1, TRUE)": "[1,true]", "1:3 > 2": "[false,false,true]",
		"data.frame(a = 1:2, b = c('x', 'y'))": `[{"a":1,"b":"x"},{"a":2,"b":"y"}]`, "function(x) x": "null", "invisible(3)": "null", "Inf": "null",
	} {
		if r := n.run(code, ofR); r.ExitCode != 0 || string(r.Result) != want {
			t.Errorf("%s is %s, want %s (%+v)", code, r.Result, want, r.Error)
		}
	}
	r := n.run("data.frame(a = 1:2)", ofR)
	if r.MainDisplay == nil || !strings.Contains(string(r.Displays[*r.MainDisplay]["text/html"]), "<table>") && !strings.Contains(string(r.Displays[*r.MainDisplay]["text/html"]), `\u003ctable`) {
		t.Errorf("a data frame is shown as %v, want a table in HTML too", r.Displays)
	}
	r = n.run("plot(1:3); hist(c(1, 2, 2))", ofR)
	if len(r.Displays) != 2 || !strings.HasPrefix(string(r.Displays[0]["image/png"]), `"iVBORw0KGgo`) {
		t.Errorf("two plots are shown as %.300v, want two pictures (%s)", r.Displays, r.Stderr)
	}
	n.want("HI v\n", "cat(toupper(readLines(file('stdin'))), Sys.getenv('A')); cat('\\n')", ofR, func(s *yurt.ExecutionSpec) {
		s.Stdin, s.Env = []byte("hi"), map[string]string{"A": "v"}
	})
	n.want("none\n", "cat(Sys.getenv('A', unset = 'none')); cat('\\n')", ofR)
}

func TestRErrors(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, runs("r"))
	for _, tt := range []struct {
		code, kind, message string
		stack               []string
	}{
		{"cat(1)\n\nif )", yurt.ErrorTypeCompile, "<cell 1>:3:4: unexpected ')'", nil},
		{"f <- function(n) {\n  stop('boom ', n)\n}\n\nf(3)", "Error", "boom 3", []string{"f(3) (<cell 2>:5)"}},
		{"g <- function(n) {\n  f(n)\n}\nx <- g(4)", "Error", "boom 4", []string{"x <- g(4) (<cell 3>:4)", "g(4)", "f(n) (<cell 3>:2)"}},
		{"library(nope)", "packageNotFoundError", "there is no package called ‘nope’", []string{"library(nope) (<cell 4>:1)"}},
	} {
		r := n.run(tt.code, ofR)
		if r.Error == nil || r.Error.Type != tt.kind || r.Error.Message != tt.message || r.Stdout != "" || r.ExitCode != 1 {
			t.Errorf("%s\nfailed with %+v, exit code %d, stdout %q; want %s: %s, exit code 1", tt.code, r.Error, r.ExitCode, r.Stdout, tt.kind, tt.message)
			continue
		}
		if tt.stack != nil && !slices.Equal(r.Error.Stacktrace, tt.stack) {
			t.Errorf("%s\nhas the stack %q, want %q", tt.code, r.Error.Stacktrace, tt.stack)
		}
	}
}
