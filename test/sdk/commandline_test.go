package sdk

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt/test/testutil"
)

// TestCommandLine: the command line repeats a command whose answer is lost, which is carried out once, and does not wait for a server
// that is not there.
func TestCommandLine(t *testing.T) {
	testutil.NeedsSandboxes(t)
	program := testutil.BuildYurt(t, "yurt-sdk", "sdk")
	faults := NewFaults(t, program)
	command := func(server string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append(os.Environ(), "YURT_SERVER="+server)
		var told strings.Builder
		cmd.Stderr = &told
		out, err := cmd.Output()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, told.String())
		}
		return strings.TrimSpace(string(out)), err
	}
	session, err := command(faults.URL, "session", "create")
	if err != nil {
		t.Fatal(err)
	}
	faults.mu.Lock()
	faults.lose = loss{count: 100, keys: make(map[string]bool)}
	faults.mu.Unlock()
	for _, args := range [][]string{{"exec", session, "echo a >> log"}, {"exec", "--detach", session, "echo b >> log"}, {"pause", session}, {"resume", session}} {
		if out, err := command(faults.URL, append([]string{"session"}, args...)...); err != nil {
			t.Errorf("%v, whose first answer is lost: %v\n%s", args, err, out)
		}
	}
	if out, err := command(faults.URL, "session", "exec", session, "sort log"); out != "a\nb" || err != nil {
		t.Errorf("the commands left %q, error %v; expected a line of each", out, err)
	}
	faults.mu.Lock()
	lost := faults.report.Losses
	faults.mu.Unlock()
	if lost != 5 {
		t.Errorf("%d answers were lost, expected one of each command", lost)
	}
	faults.mu.Lock()
	faults.lose, faults.drop = loss{}, 1
	faults.mu.Unlock()
	if out, err := command(faults.URL, "session", "stop", session); err != nil || !strings.Contains(out, "terminated") {
		t.Errorf("the end of a session whose answer is lost: %q, %v", out, err)
	}
	faults.mu.Lock()
	if faults.report.Drops != 1 {
		t.Errorf("%d answers to the end of the session were lost, expected one", faults.report.Drops)
	}
	faults.mu.Unlock()
	begun := time.Now()
	if out, err := command("http://127.0.0.1:1", "session", "exec", session, "true"); err == nil || time.Since(begun) > 5*time.Second {
		t.Errorf("without a server a command took %s, error %v: %s", time.Since(begun), err, out)
	}
}
