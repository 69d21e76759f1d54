package e2e

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt/test/leftovers"
)

// startRun starts yurt run on a script that prints a line and then sleeps, waits for
// the line, and returns the process and its private state directory.
func startRun(t *testing.T) (cmd *exec.Cmd, stateDir string) {
	t.Helper()
	needsSandboxes(t)
	dir := t.TempDir()
	script := filepath.Join(dir, "sleepy.py")
	if err := os.WriteFile(script, []byte("import time\nprint('ready', flush=True)\ntime.sleep(60)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	cmd = exec.Command(binary(t, "yurt"), "run", script)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Fatalf("the first line is %q, %v; want it while the script runs", line, err)
	}
	dirs, err := filepath.Glob(filepath.Join(temp, "yurt-run-*"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("its state directory is not to be found in %s: %v", temp, err)
	}
	somethingThere(t, dirs[0])
	return cmd, dirs[0]
}

// Ctrl-C, as a terminal sends it to the whole process group.
func TestInterruptedRunLeavesNothing(t *testing.T) {
	cmd, stateDir := startRun(t)
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("it ended with %v, want exit code 1", cmd.ProcessState)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %s to end", took)
	}
	nothingLeft(t, stateDir)
	if _, err := os.Stat(stateDir); !os.IsNotExist(err) {
		t.Errorf("its state directory is still there: %v", err)
	}
}

// No process is left to clean up after kill -9, but the user's program may not run on.
func TestKilledRunEndsItsSandbox(t *testing.T) {
	cmd, stateDir := startRun(t)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left, err := leftovers.Of(stateDir)
		if err != nil {
			t.Fatal(err)
		}
		if len(left.Processes) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("these run on:\n%s", left)
		}
	}
	removeCgroups(t, stateDir)
	if err := os.RemoveAll(leftovers.RunDir(stateDir)); err != nil {
		t.Error(err)
	}
}

// removeCgroups removes the cgroups that kill -9 had to leave, so that this test leaves no remains.
// A process that is gone may keep its group for a moment.
func removeCgroups(t *testing.T, stateDir string) {
	t.Helper()
	var failed error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		left, err := leftovers.Of(stateDir)
		if err != nil {
			t.Fatal(err)
		}
		if len(left.Cgroups) == 0 {
			return
		}
		failed = nil
		for _, group := range slices.Backward(left.Cgroups) { // those below come after those above
			failed = errors.Join(failed, os.Remove(group))
		}
	}
	t.Errorf("its groups are not removed: %v", failed)
}
