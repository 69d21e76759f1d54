package bash

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

func failure(output string) plugins.Failure {
	return plugins.Failure{Output: []byte(output), Root: "/workspace", Dir: "/run/yurt/exe_1"}
}

// TestInterpret reads the output of Bash 5.2.
func TestInterpret(t *testing.T) {
	t.Parallel()
	found := func(kind, message, place string) *yurt.ExecutionError {
		return &yurt.ExecutionError{Type: kind, Message: message, Stacktrace: []string{place}}
	}
	for name, tt := range map[string]struct {
		output string
		want   *yurt.ExecutionError
	}{
		"nothing":        {"", nil},
		"a command's":    {"ls: cannot access 'x': No such file or directory\n", nil},
		"syntax error":   {"/run/yurt/exe_1/main.sh: line 3: syntax error near unexpected token `)'\n/run/yurt/exe_1/main.sh: line 3: `if )'\n", found("SyntaxError", "main.sh:3: syntax error near unexpected token `)'", "main.sh:3")},
		"end of file":    {"/run/yurt/exe_1/main.sh: line 5: unexpected EOF while looking for matching `\"'\n", found("SyntaxError", "main.sh:5: unexpected EOF while looking for matching `\"'", "main.sh:5")},
		"unset":          {"out\n/workspace/src/app.sh: line 3: name: unbound variable\n", found("BashError", "src/app.sh:3: name: unbound variable", "src/app.sh:3")},
		"not found":      {"/run/yurt/exe_1/main.sh: line 1: nothing: command not found\n", found("BashError", "main.sh:1: nothing: command not found", "main.sh:1")},
		"went on after":  {"/run/yurt/exe_1/main.sh: line 1: nothing: command not found\nthen failed\n", nil},
		"not the user's": {"/etc/profile: line 1: nothing: command not found\n", nil},
	} {
		if diff := cmp.Diff(tt.want, interpret(failure(tt.output))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func FuzzInterpret(f *testing.F) {
	for _, seed := range []string{"", "\n\n", "/run/yurt/exe_1/main.sh: line 3: x\n/run/yurt/exe_1/main.sh: line 3: `", ": line : "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, output string) {
		if found := interpret(failure(output)); found != nil && (found.Type == "" || len(found.Stacktrace) != 1) {
			t.Errorf("%q became %+v", output, found)
		}
	})
}
