package sdk

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

// TestGoExamples runs the examples of the Go SDK against a server. Their own package has no server, so the output in their
// comments follows another word than "Output:", by which go test would run them.
func TestGoExamples(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	program := testutil.BuildYurt(t, "yurt-sdk", "sdk")
	url, _ := testutil.Serve(t, program)
	source, dir := filepath.Join(testutil.Root(t), "sdk", "go", "example_test.go"), t.TempDir()
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	const address, told = "http://127.0.0.1:8700", "// Prints:"
	count := strings.Count(string(text), "\nfunc Example")
	if got := strings.Count(string(text), told); got != count {
		t.Fatalf("%d of %d examples say what they print, expected all", got, count)
	}
	changed := filepath.Join(dir, "example_test.go")
	text = []byte(strings.NewReplacer(address, url, told, "// Output:").Replace(string(text)))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{changed: text, filepath.Join(dir, "overlay.json"): overlay} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-tags", "seccomp", "-count=1", "-v", "-run", "^Example", "-overlay", filepath.Join(dir, "overlay.json"), "./sdk/go")
	cmd.Dir, cmd.Env = testutil.Root(t), append(os.Environ(), "YURT_BIN="+program)
	out, err := cmd.CombinedOutput()
	if got := strings.Count(string(out), "--- PASS: Example"); err != nil || got != count {
		t.Errorf("%d of %d examples print what they say (%v):\n%s", got, count, err, out)
	}
}
