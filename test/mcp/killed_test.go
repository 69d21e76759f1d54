package mcp_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/yurtrun/yurt/test/leftovers"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestKilledCommandLeavesNoTrace: yurt mcp that runs the sandboxes itself has removed them a moment after its end, also when it was
// killed, alone or with its group of processes as some agents do.
func TestKilledCommandLeavesNoTrace(t *testing.T) {
	t.Parallel()
	program := yurt(t)
	for name, end := range map[string]func(*exec.Cmd) error{
		"kill":              func(cmd *exec.Cmd) error { return cmd.Process.Kill() },
		"kill of the group": func(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) },
		"interrupt":         func(cmd *exec.Cmd) error { return cmd.Process.Signal(os.Interrupt) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), program, "mcp")
			temp := t.TempDir()
			cmd.Env = append(os.Environ(), "TMPDIR="+temp, "YURT_SERVER=", "YURT_URL=")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			state := runsCode(t, cmd, temp)
			if there, err := leftovers.Of(state); err != nil || len(there.Processes) < 3 || len(there.Cgroups) == 0 || len(there.Directories) == 0 {
				t.Fatalf("while it runs it has %v (%v), expected processes, cgroups and directories", there, err)
			}
			if err := end(cmd); err != nil {
				t.Fatal(err)
			}
			left, err := leftovers.Gone(t.Context(), state, 10*time.Second)
			if err != nil || left.Count() > 0 {
				t.Errorf("left behind (%v):\n%s", err, left)
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("the directory for temporary files holds %v (%v), expected that all is removed", left, err)
			}
		})
	}
}

// TestUnreadCommandLeavesNoTrace: yurt mcp ends when it is told to, also where its agent has stopped reading.
func TestUnreadCommandLeavesNoTrace(t *testing.T) {
	t.Parallel()
	cmd, state := unread(t)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	endsWithin(t, cmd, state, 10*time.Second)
}

// unread starts yurt mcp, has it run code until its answers fill the pipe, and reads none of them. It returns the state directory too.
func unread(t *testing.T) (cmd *exec.Cmd, state string) {
	t.Helper()
	temp := t.TempDir()
	cmd = exec.CommandContext(t.Context(), yurt(t), "mcp")
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "YURT_SERVER=", "YURT_URL=")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	messages := []string{
		`"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "unread", "version": "1"}}`,
		`"method": "notifications/initialized"`,
	}
	for id := range 4 {
		messages = append(messages, fmt.Sprintf(`"id": %d, "method": "tools/call", "params": {"name": "run_code", "arguments": {"code": "print('x' * 30000)"}}`, id+2))
	}
	for _, message := range messages {
		if _, err := io.WriteString(in, `{"jsonrpc": "2.0", `+message+"}\n"); err != nil {
			t.Fatal(err)
		}
	}
	testutil.Eventually(t, "all code has run", func() bool {
		ran, err := filepath.Glob(filepath.Join(temp, "yurt-run-*", "yurt.db"))
		if err != nil || len(ran) != 1 {
			return false
		}
		state = filepath.Dir(ran[0])
		there, err := leftovers.Of(state)
		return err == nil && len(there.Cgroups) >= 4
	})
	time.Sleep(3 * time.Second) // for the answers to fill the pipe
	return cmd, state
}

// endsWithin wants the command to end within a time, and to leave no trace.
func endsWithin(t *testing.T, cmd *exec.Cmd, state string, within time.Duration) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(within):
		t.Errorf("yurt mcp runs on %s after its agent has left it, expected it to end", within)
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		<-ended
	}
	if left, err := leftovers.Gone(t.Context(), state, 10*time.Second); err != nil || left.Count() > 0 {
		t.Errorf("left behind (%v):\n%s", err, left)
	}
}

// runsCode starts the command, runs code that leaves a process in its sandbox, and returns the state directory.
func runsCode(t *testing.T, cmd *exec.Cmd, temp string) string {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the command was killed
	answer, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "run_code", Arguments: map[string]any{
		"language": "python", "code": "import subprocess; subprocess.Popen(['sleep', '1000']); print('runs')",
	}})
	if err != nil || answer.IsError {
		t.Fatalf("running code: %v, %+v", err, answer)
	}
	found, err := filepath.Glob(filepath.Join(temp, "yurt-run-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the state directories are %v (%v), expected one", found, err)
	}
	return found[0]
}
