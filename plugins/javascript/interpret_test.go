package javascript_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/javascript"
)

func failure(output string) plugins.Failure {
	return plugins.Failure{Phase: plugins.PhaseRun, Output: []byte(output), Root: "/workspace", Dir: "/run/yurt/exe_1"}
}

// TestInterpretNode reads the output of Node 20.
func TestInterpretNode(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		output string
		want   *yurt.ExecutionError
	}{
		"nothing": {"", nil},
		"a module": {
			"before\nfile:///workspace/lib.mjs:2\nlet x = = 2\n        ^\n\nSyntaxError: Unexpected token '='\n    at compileSourceTextModule (node:internal)\n",
			&yurt.ExecutionError{Type: "SyntaxError", Message: "lib.mjs:2:9: Unexpected token '='", Stacktrace: []string{"lib.mjs:2:9"}},
		},
		"the snippet": {
			"file:///run/yurt/exe_1/main.mjs:1\nimport x\n       ^\n\nSyntaxError: bad\n",
			&yurt.ExecutionError{Type: "SyntaxError", Message: "main.js:1:8: bad", Stacktrace: []string{"main.js:1:8"}},
		},
		"memory": {
			"<--- Last few GCs --->\n\nFATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n----- Native stack trace -----\n",
			&yurt.ExecutionError{Type: "HeapOutOfMemory", Message: "Reached heap limit Allocation failed - JavaScript heap out of memory", Stacktrace: []string{}},
		},
	} {
		if diff := cmp.Diff(tt.want, javascript.InterpretNode(failure(tt.output))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func FuzzInterpretNode(f *testing.F) {
	for _, seed := range []string{"", "file:///a:1\n\n^\n\nSyntaxError: x\n", "FATAL ERROR: heap out of memory\n", "/:99999999999999999999\n\n^\nSyntaxError: "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, output string) {
		if found := javascript.InterpretNode(failure(output)); found != nil && (found.Type == "" || found.Message == "") {
			t.Errorf("%q became %+v", output, found)
		}
	})
}
