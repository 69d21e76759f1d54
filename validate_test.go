package yurt_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
)

func validSpec() yurt.ExecutionSpec {
	return yurt.ExecutionSpec{
		ID: "exe_a", Kind: yurt.KindHandler, Language: "python", Code: "def handler(event): ...", Handler: "handler",
		Event: []byte(`{}`), Timeout: yurt.Duration(time.Second), OutputLimit: yurt.DefaultOutputLimit,
	}
}

func TestExecutionSpecValidate(t *testing.T) {
	tests := []struct {
		name   string
		change func(*yurt.ExecutionSpec)
		field  string
		code   yurt.Code
	}{
		{"a whole handler", func(*yurt.ExecutionSpec) {}, "", ""},
		{"unknown kind", func(s *yurt.ExecutionSpec) { s.Kind = "magic" }, "kind", yurt.CodeInvalidArgument},
		{"no code", func(s *yurt.ExecutionSpec) { s.Code = "" }, "code", yurt.CodeInvalidArgument},
		{"too much code", func(s *yurt.ExecutionSpec) { s.Code = strings.Repeat("x", yurt.MaxCodeBytes+1) }, "code", yurt.CodeLimitOutOfRange},
		{"code that is no text", func(s *yurt.ExecutionSpec) { s.Code = "\xff" }, "code", yurt.CodeInvalidArgument},
		{"code and command", func(s *yurt.ExecutionSpec) { s.Command = []string{"true"} }, "command", yurt.CodeInvalidArgument},
		{"no language", func(s *yurt.ExecutionSpec) { s.Language = "" }, "language", yurt.CodeInvalidArgument},
		{"control characters in a name", func(s *yurt.ExecutionSpec) { s.Handler = "a\x1b[2J" }, "handler", yurt.CodeInvalidArgument},
		{"event that is no JSON", func(s *yurt.ExecutionSpec) { s.Event = []byte(`{`) }, "event", yurt.CodeInvalidArgument},
		{"context that is no object", func(s *yurt.ExecutionSpec) { s.Context = []byte(`[]`) }, "context", yurt.CodeInvalidArgument},
		{"no timeout", func(s *yurt.ExecutionSpec) { s.Timeout = 0 }, "timeout", yurt.CodeLimitOutOfRange},
		{"negative timeout", func(s *yurt.ExecutionSpec) { s.Timeout = -1 }, "timeout", yurt.CodeLimitOutOfRange},
		{"too long a timeout", func(s *yurt.ExecutionSpec) { s.Timeout = yurt.Duration(yurt.MaxExecutionTimeout) + 1 }, "timeout", yurt.CodeLimitOutOfRange},
		{"no output limit", func(s *yurt.ExecutionSpec) { s.OutputLimit = 0 }, "output_limit", yurt.CodeLimitOutOfRange},
		{"too much stdin", func(s *yurt.ExecutionSpec) { s.Stdin = make([]byte, yurt.MaxStdinBytes+1) }, "stdin", yurt.CodeLimitOutOfRange},
		{"relative cwd", func(s *yurt.ExecutionSpec) { s.Cwd = "src" }, "cwd", yurt.CodeInvalidPath},
		{"control characters in cwd", func(s *yurt.ExecutionSpec) { s.Cwd = "/a\nb" }, "cwd", yurt.CodeInvalidPath},
		{"env without a name", func(s *yurt.ExecutionSpec) { s.Env = map[string]string{"": "x"} }, "env", yurt.CodeInvalidArgument},
		{"env with NUL", func(s *yurt.ExecutionSpec) { s.Env = map[string]string{"A": "x\x00"} }, "env.A", yurt.CodeInvalidArgument},
		{"too much env", func(s *yurt.ExecutionSpec) { s.Env = map[string]string{"A": strings.Repeat("x", yurt.MaxEnvBytes)} }, "env", yurt.CodeLimitOutOfRange},
		{"empty command", func(s *yurt.ExecutionSpec) { *s = command() }, "command", yurt.CodeInvalidArgument},
		{"command", func(s *yurt.ExecutionSpec) { *s = command("true") }, "", ""},
		{"NUL in an argument", func(s *yurt.ExecutionSpec) { *s = command("a", "b\x00") }, "command", yurt.CodeInvalidArgument},
		{"streamed command", func(s *yurt.ExecutionSpec) { *s = streamed(); s.Terminal = &yurt.TerminalSize{Rows: 1, Cols: 1} }, "", ""},
		{"streamed with a timeout", func(s *yurt.ExecutionSpec) { *s = streamed(); s.Timeout = 1 }, "timeout", yurt.CodeInvalidArgument},
		{"streamed with an output limit", func(s *yurt.ExecutionSpec) { *s = streamed(); s.OutputLimit = 1 }, "output_limit", yurt.CodeInvalidArgument},
		{"streamed and endless", func(s *yurt.ExecutionSpec) { *s = streamed(); s.Endless = true }, "endless", yurt.CodeInvalidArgument},
		{"streamed with packages", func(s *yurt.ExecutionSpec) { *s = streamed(); s.Dependencies = []string{"six"} }, "dependencies", yurt.CodeInvalidArgument},
		{"command with packages", func(s *yurt.ExecutionSpec) { *s = command("true"); s.Dependencies = []string{"six"} }, "dependencies", yurt.CodeInvalidArgument},
		{"function with packages", func(s *yurt.ExecutionSpec) { s.Code, s.Command, s.Dependencies = "", []string{"true"}, []string{"six"} }, "", ""},
		{"function with packages of no language", func(s *yurt.ExecutionSpec) {
			s.Code, s.Language, s.Command, s.Dependencies = "", "", []string{"true"}, []string{"six"}
		}, "language", yurt.CodeInvalidArgument},
		{"function with a bad package", func(s *yurt.ExecutionSpec) {
			s.Code, s.Command, s.Dependencies = "", []string{"true"}, []string{"--index-url=x"}
		}, "dependencies", yurt.CodeInvalidArgument},
		{"streamed to log files", func(s *yurt.ExecutionSpec) { *s = streamed(); s.Logs = &yurt.LogFiles{} }, "logs", yurt.CodeInvalidArgument},
		{"streamed code", func(s *yurt.ExecutionSpec) { s.Streamed, s.Timeout, s.OutputLimit = true, 0, 0 }, "kind", yurt.CodeInvalidArgument},
		{"too long arguments", func(s *yurt.ExecutionSpec) {
			*s = command(slices.Repeat([]string{strings.Repeat("x", yurt.MaxArgBytes-1)}, 5)...)
		}, "command", yurt.CodeLimitOutOfRange},
		{"too long an argument", func(s *yurt.ExecutionSpec) { *s = command("a", strings.Repeat("x", yurt.MaxArgBytes)) }, "command", yurt.CodeLimitOutOfRange},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := validSpec()
			test.change(&spec)
			checkFieldError(t, spec.Validate(), test.code, test.field)
		})
	}
}

func streamed() yurt.ExecutionSpec {
	s := command("true")
	s.Timeout, s.OutputLimit, s.Streamed = 0, 0, true
	return s
}

func command(argv ...string) yurt.ExecutionSpec {
	return yurt.ExecutionSpec{Kind: yurt.KindCommand, Command: argv, Timeout: yurt.Duration(time.Second), OutputLimit: 1}
}

func TestCleanWorkspacePath(t *testing.T) {
	tests := []struct {
		path, want string
		code       yurt.Code
	}{
		{path: "a.txt", want: "a.txt"},
		{path: "a/./b//c", want: "a/b/c"},
		{path: "a/../b", want: "b"},
		{path: "/workspace/a", want: "a"},
		{path: "", code: yurt.CodeInvalidPath},
		{path: "a\nb", code: yurt.CodeInvalidPath},
		{path: "a\x00", code: yurt.CodeInvalidPath},
		{path: "\xff", code: yurt.CodeInvalidPath},
		{path: strings.Repeat("x", yurt.MaxPathBytes+1), code: yurt.CodeInvalidPath},
		{path: ".", code: yurt.CodeNotAFile},
		{path: "..", code: yurt.CodePathOutsideWorkspace},
		{path: "../etc/passwd", code: yurt.CodePathOutsideWorkspace},
		{path: "a/../../etc/passwd", code: yurt.CodePathOutsideWorkspace},
		{path: "/etc/passwd", code: yurt.CodePathOutsideWorkspace},
		{path: "../workspacex", code: yurt.CodePathOutsideWorkspace},
	}
	for _, test := range tests {
		got, err := yurt.CleanWorkspacePath("path", test.path)
		if code := yurt.CodeOf(err); got != test.want || code != test.code {
			t.Errorf("CleanWorkspacePath(%q) = %q, %v; want %q, code %q", test.path, got, err, test.want, test.code)
		}
	}
}

func checkFieldError(t *testing.T, err error, code yurt.Code, field string) {
	t.Helper()
	if got := yurt.CodeOf(err); got != code {
		t.Fatalf("error %v has code %q, want %q", err, got, code)
	}
	if coded := new(yurt.Error); errors.As(err, &coded) && coded.Field != field {
		t.Errorf("error %v is about field %q, want %q", err, coded.Field, field)
	}
}
