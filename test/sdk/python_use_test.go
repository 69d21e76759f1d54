package sdk

import (
	"path/filepath"
	"testing"

	"github.com/yurtrun/yurt/test/readme"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestPython uses the wheel from an empty environment.
func TestPython(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	interpreter := installed(t)
	runner := []string{interpreter, filepath.Join(python(t), "tests", "scenarios.py")}
	everyScenario(t, runner...)
	t.Run("async", func(t *testing.T) {
		t.Parallel()
		everyScenario(t, append([]string{"env", "YURT_ASYNC=1"}, runner...)...)
	})
	t.Run("local", func(t *testing.T) {
		t.Parallel()
		endsLocal(t, []string{"kill", "exit", "crash", "term", "await"}, interpreter, filepath.Join(python(t), "tests", "local.py"))
	})
	t.Run("bad input", func(t *testing.T) {
		t.Parallel()
		badInput(t, interpreter)
	})
}

// badInput shows that wrong values are refused, and that a client that leaves leaves no process behind.
func badInput(t *testing.T, interpreter string) {
	t.Helper()
	url, _ := testutil.Serve(t, testutil.BuildYurt(t, "yurt-sdk", "sdk"))
	script := filepath.Join(python(t), "tests", "bad_input.py")
	if out := readme.Bash(t, t.TempDir(), interpreter+" "+script, "YURT_SERVER="+url); out != "all refused\n" {
		t.Errorf("the program printed %q, expected all input to be refused", out)
	}
}
