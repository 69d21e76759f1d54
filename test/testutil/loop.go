package testutil

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// LoopDevice makes a block device of the node that begins with the text, and returns its path
// and that of the file behind it.
func LoopDevice(t testing.TB, text string) (device, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(file, append([]byte(text), make([]byte, 64<<10-len(text))...), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", file).CombinedOutput() //nolint:noctx // also the end of a test waits for it
	if err != nil {
		t.Fatalf("making a loop device, for which this machine needs losetup of the package mount: %v: %s", err, out)
	}
	device = strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "--detach", device).CombinedOutput(); err != nil { //nolint:noctx // likewise
			t.Errorf("removing %s: %v: %s", device, err, out)
		}
	})
	return device, file
}
