package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/test/testutil"
)

// TestRunAtATerminal types at a script, which reads the lines and their end, and reads the script's
// answers meanwhile.
func TestRunAtATerminal(t *testing.T) {
	testutil.NeedsSandboxes(t)
	person, programs := testutil.Terminal(t)
	script := filepath.Join(t.TempDir(), "script.py")
	const text = "import sys\nprint('your name', end='? ', flush=True)\nfor line in sys.stdin: print('hello', line.strip(), sys.stdin.isatty(), flush=True)\nprint('bye')\n"
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(binDir, "yurt"), "run", script)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = programs, programs, programs
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen, buf := "", make([]byte, 1024)
	until := func(want string) {
		t.Helper()
		_ = person.SetReadDeadline(time.Now().Add(testutil.Moment(t, 30*time.Second))) // else it fails when it reads
		for !strings.HasSuffix(seen, want) {
			n, err := person.Read(buf)
			if err != nil {
				t.Fatalf("waiting for %q after %q: %v", want, seen, err)
			}
			seen += string(buf[:n])
		}
	}
	typing := func(keys string) {
		t.Helper()
		if _, err := person.WriteString(keys); err != nil {
			t.Fatal(err)
		}
	}
	until("your name? ")
	typing("anna\n")
	until("hello anna False\r\n")
	typing("bert\n")
	until("hello bert False\r\n")
	typing("\x04") // the end, as Ctrl-D types it
	until("bye\r\n")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
