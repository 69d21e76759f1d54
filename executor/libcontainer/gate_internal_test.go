//go:build linux && cgo && seccomp

package libcontainer

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/internal/linux/pidfd"
)

// TestGate lets processes through that write to it, be it open before or not, and tells of
// those that end instead.
func TestGate(t *testing.T) {
	tests := map[string]struct {
		early  bool
		script string
		passes bool
	}{
		"opened before it comes":   {true, `printf 0 > "$1"; exec sleep 100`, true},
		"opened when it is there":  {false, `printf 0 > "$1"; exec sleep 100`, true},
		"ends when it has passed":  {true, `printf 0 > "$1"`, true},
		"ends without":             {true, `exit 0`, false},
		"comes and writes nothing": {true, `: > "$1"; exit 1`, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := newGate(t.TempDir())
			defer g.close()
			g.early.Stop()
			if err := unix.Mkfifo(g.path, 0o600); err != nil {
				t.Fatal(err)
			}
			if test.early {
				if err := g.open(); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), "sh", "-c", test.script, "sh", g.path)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Wait()         //nolint:errcheck // it may have been killed
			defer cmd.Process.Kill() //nolint:errcheck // it may have ended
			process, err := pidfd.Open(cmd.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			defer process.Close()
			if err := g.pass(process); (err == nil) != test.passes {
				t.Errorf("it passes: %v; want %t", err, test.passes)
			}
		})
	}
}

// TestGateThatIsNotThere is that of a sandbox whose start failed.
func TestGateThatIsNotThere(t *testing.T) {
	g := newGate(t.TempDir())
	defer g.close()
	if err := g.pass(nil); err == nil {
		t.Error("a gate that is not there was passed")
	}
}
