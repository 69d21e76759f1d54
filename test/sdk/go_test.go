package sdk

import (
	"path/filepath"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

// goRunner builds the runner of the Go SDK.
func goRunner(t testing.TB) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "gorunner")
	run(t, testutil.Root(t), "go", "build", "-o", program, "./test/sdk/gorunner")
	return program
}

func TestGo(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	runner := goRunner(t)
	everyScenario(t, runner)
	t.Run("local", func(t *testing.T) {
		program := filepath.Join(t.TempDir(), "golocal")
		run(t, testutil.Root(t), "go", "build", "-o", program, "./test/sdk/golocal")
		endsLocal(t, []string{"kill", "exit", "crash"}, program)
	})
}
