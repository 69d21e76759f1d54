package typescript

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

func failure(output string) plugins.Failure {
	return plugins.Failure{Phase: plugins.PhaseCompile, Output: []byte(output), Root: "/workspace", Dir: "/run/yurt/exe_1", OutDir: "/tmp/out"}
}

// TestCompileError reads the output of esbuild 0.17.
func TestCompileError(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		output string
		want   *yurt.ExecutionError
	}{
		"nothing": {"", nil},
		"warning": {"▲ [WARNING] Suspicious\n\n    main.ts:1:1:\n", nil},
		"one": {
			"✘ [ERROR] Unexpected \"=\"\n\n    main.ts:3:10:\n      3 │ const y = = 2;\n        ╵           ^\n\n1 error\n",
			&yurt.ExecutionError{Type: "CompileError", Message: `main.ts:3:11: Unexpected "="`, Stacktrace: []string{"main.ts:3:11"}},
		},
		"two": {
			"✘ [ERROR] Could not resolve \"x\"\n\n    src/a.ts:1:7:\n      1 │ x\n\n  You can mark\n\n✘ [ERROR] Bad\n\n    src/b.ts:2:3:\n",
			&yurt.ExecutionError{Type: "CompileError", Message: `src/a.ts:1:8: Could not resolve "x"`, Stacktrace: []string{"src/a.ts:1:8", "src/b.ts:2:4"}},
		},
		"no place": {"✘ [ERROR] Cannot read\n\n", &yurt.ExecutionError{Type: "CompileError", Message: "Cannot read", Stacktrace: []string{}}},
	} {
		if diff := cmp.Diff(tt.want, compileError(failure(tt.output))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func FuzzCompileError(f *testing.F) {
	for _, seed := range []string{"", "✘ [ERROR] Bad\n\n    a.ts:1:1:\n", "[ERROR] \n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, output string) {
		if found := compileError(failure(output)); found != nil && (found.Type == "" || found.Message == "") {
			t.Errorf("%q became %+v", output, found)
		}
	})
}
