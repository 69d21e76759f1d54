package sdk

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

// TestTypescript uses the package from an empty project, as ESM and as CommonJS.
func TestTypescript(t *testing.T) {
	testutil.NeedsSandboxes(t)
	project := installedTypescript(t, "@langchain/core@1.4.0", "ai@7.0.173", "zod@4.6.7")
	for _, form := range []string{"esm", "cjs"} {
		t.Run(form, func(t *testing.T) {
			runner := []string{"env", "YURT_FORM=" + form, node(t), filepath.Join(project, "scenarios.mjs")}
			everyScenario(t, runner...)
			t.Run("results and bad input", func(t *testing.T) {
				url, _ := testutil.Serve(t, testutil.BuildYurt(t, "yurt-sdk", "sdk"))
				program(t, project, "shows.mjs", "all shown\n", "YURT_URL="+url, "YURT_FORM="+form)
				program(t, project, "bad_input.mjs", "all refused\n", "YURT_URL="+url, "YURT_FORM="+form)
			})
		})
	}
	t.Run("local", func(t *testing.T) { localTypescript(t, project) })
	t.Run("tools", func(t *testing.T) {
		url, _ := testutil.Serve(t, testutil.BuildYurt(t, "yurt-sdk", "sdk"))
		program(t, project, "tools.mjs", "all called\n", "YURT_URL="+url)
	})
}

// program runs one of the SDK's test programs and compares its output.
func program(t *testing.T, project, name, want string, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), node(t), filepath.Join(project, name))
	cmd.Dir, cmd.Env = project, append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() >= 0 { // it is -1 of a program that kills itself
		t.Errorf("%s: %v\n%s", name, err, stderr.String())
	}
	if string(out) != want {
		t.Errorf("%s printed %q, expected %q", name, out, want)
	}
}

// localTypescript shows that without a server the SDK starts one, and that neither process nor directory is left when
// it is told so, when its process ends without a word, and when its process is killed.
func localTypescript(t *testing.T, project string) {
	t.Helper()
	for _, end := range []string{"kill", "exit", "crash"} {
		temp := t.TempDir()
		program(t, project, "local.mjs", "hello\n", "YURT_BIN="+tellingYurt(t, temp), "TMPDIR="+temp, "YURT_END="+end)
		testutil.Eventually(t, "the state directory is gone after "+end, func() bool {
			left, err := filepath.Glob(filepath.Join(temp, "yurt-local-*"))
			return err == nil && len(left) == 0
		})
		state, err := os.ReadFile(filepath.Join(temp, stateFile))
		if err != nil {
			t.Fatal(err)
		}
		testutil.CheckNothingLeft(t, strings.TrimSpace(string(state)))
	}
	program(t, project, "local.mjs", "refused: local\n", "YURT_BIN=/bin/false", "TMPDIR="+t.TempDir())
	program(t, project, "local.mjs", "refused: local\n", "YURT_BIN="+os.DevNull, "TMPDIR="+t.TempDir())
}

// stateFile is the file in which a program of [tellingYurt] leaves the name of its state directory.
const stateFile = "state"

// tellingYurt returns a program that writes the last of its arguments, the state directory, into a file in dir, and becomes yurt.
func tellingYurt(t *testing.T, dir string) string {
	t.Helper()
	script := fmt.Sprintf("#!/bin/sh\nfor last; do :; done\necho \"$last\" >%q\nexec %q \"$@\"\n", filepath.Join(dir, stateFile), testutil.BuildYurt(t, "yurt-sdk", "sdk"))
	path := filepath.Join(dir, "yurt")
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
