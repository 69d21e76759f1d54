package sdk

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/yurtrun/yurt/test/readme"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestPython uses the wheel from an empty environment.
func TestPython(t *testing.T) {
	testutil.NeedsSandboxes(t)
	interpreter := installed(t)
	runner := []string{interpreter, filepath.Join(python(t), "tests", "scenarios.py")}
	everyScenario(t, runner...)
	t.Run("async", func(t *testing.T) { everyScenario(t, append([]string{"env", "YURT_ASYNC=1"}, runner...)...) })
	t.Run("local", func(t *testing.T) { local(t, interpreter) })
	t.Run("bad input", func(t *testing.T) { badInput(t, interpreter) })
}

// local shows that without a server the SDK starts one, and leaves neither process nor directory behind.
func local(t *testing.T, interpreter string) {
	t.Helper()
	temp := t.TempDir()
	script := `
import os, signal
from yurt import Sandbox, UnavailableError
with Sandbox.create(local=True) as sandbox:
    assert sandbox.run_command("echo hello").stdout == "hello\n"
    url = sandbox._client.url
try:
    Sandbox.connect("ses_x", client=__import__("yurt").Yurt(url, patience=0.1))
except UnavailableError as error:
    print("gone:", error.code)
os.environ["YURT_BIN"] = "/bin/false"
try:
    Sandbox.create(local=True)
except UnavailableError as error:
    print("refused:", error.field)
`
	file := filepath.Join(temp, "local.py")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	out := readme.Bash(t, temp, interpreter+" "+file, "YURT_BIN="+testutil.BuildYurt(t, "yurt-sdk", "sdk"), "TMPDIR="+temp)
	if out != "gone: unavailable\nrefused: local\n" {
		t.Errorf("the program printed %q, expected that its server is gone and a broken one refused", out)
	}
	if left, err := filepath.Glob(filepath.Join(temp, "yurt-local-*")); err != nil || len(left) > 0 {
		t.Errorf("state directories are left: %q (%v)", left, err)
	}
}

// badInput shows that wrong values are refused, and that a client that leaves leaves no process behind.
func badInput(t *testing.T, interpreter string) {
	t.Helper()
	url, _ := testutil.Serve(t, testutil.BuildYurt(t, "yurt-sdk", "sdk"))
	script := filepath.Join(python(t), "tests", "bad_input.py")
	if out := readme.Bash(t, t.TempDir(), interpreter+" "+script, "YURT_URL="+url); out != "all refused\n" {
		t.Errorf("the program printed %q, expected all input to be refused", out)
	}
}
