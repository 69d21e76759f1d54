package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt/test/leftovers"
	"github.com/yurtrun/yurt/test/testutil"
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

// TestKilledRunLeavesNothing: kill -9 of the process, alone or with its group, ends the user's program and leaves no directory.
func TestKilledRunLeavesNothing(t *testing.T) {
	for name, kill := range map[string]func(*exec.Cmd) error{
		"process": func(cmd *exec.Cmd) error { return cmd.Process.Kill() },
		"group":   func(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) },
		"executor": func(cmd *exec.Cmd) error {
			executor, err := leftovers.Executor(cmd.Process.Pid, 0, 10*time.Second)
			if err != nil {
				return err
			}
			return syscall.Kill(executor, syscall.SIGKILL)
		},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, stateDir := startRun(t)
			if err := kill(cmd); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if left, err := leftovers.Gone(t.Context(), stateDir, 10*time.Second); err != nil || left.Count() > 0 {
				t.Errorf("left behind (%v):\n%s", err, left)
			}
			testutil.Eventually(t, "its state directory is gone", func() bool {
				_, err := os.Stat(stateDir)
				return os.IsNotExist(err)
			})
		})
	}
}
