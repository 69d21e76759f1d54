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

// endsLocal shows that without a server an SDK starts one, and that neither process nor directory is left however its program ends: by
// a word, without one, or killed. A server that does not start is refused.
func endsLocal(t *testing.T, ends []string, command ...string) {
	t.Helper()
	for _, end := range ends {
		temp := t.TempDir()
		says(t, command, "hello\n", "YURT_BIN="+tellingYurt(t, temp), "TMPDIR="+temp, "YURT_END="+end)
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
	for _, broken := range []string{"/bin/false", os.DevNull, "/nowhere/yurt"} {
		temp := t.TempDir()
		says(t, command, "refused: local\n", "YURT_BIN="+broken, "TMPDIR="+temp, "YURT_END=exit")
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("%s that does not start left %v (%v), expected no directory", broken, left, err)
		}
	}
}

// says runs a program, which may kill itself, and compares its output.
func says(t *testing.T, command []string, want string, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() >= 0 { // it is -1 of a program that a signal ended
		t.Errorf("%v with %v: %v\n%s", command, env, err, stderr.String())
	}
	if string(out) != want {
		t.Errorf("%v with %v printed %q, expected %q", command, env, out, want)
	}
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
