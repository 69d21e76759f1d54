package procid_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt/internal/linux/procid"
)

func TestProcessIdentity(t *testing.T) {
	// A program may choose a name that looks like the fields after its name.
	odd := filepath.Join(t.TempDir(), "x) R 1 2 3 (")
	if err := os.Symlink("/bin/sleep", odd); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), odd, "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := procid.Of(cmd.Process.Pid)
	if err != nil || id.PID != cmd.Process.Pid || id.Start == 0 || id.Boot == "" {
		t.Fatalf("it is %+v, %v", id, err)
	}
	if !id.Alive() {
		t.Error("it runs and is not alive")
	}
	if self, err := procid.Of(os.Getpid()); err != nil || self.Start > id.Start || self.Boot != id.Boot {
		t.Errorf("this process is %+v, %v, and began its child %+v", self, err, id)
	}
	for name, other := range map[string]procid.ID{
		"began later":  {PID: id.PID, Start: id.Start + 1, Boot: id.Boot},
		"another boot": {PID: id.PID, Start: id.Start, Boot: "another"},
		"none":         {},
		"negative":     {PID: -1, Start: id.Start, Boot: id.Boot},
		"the highest":  {PID: 1 << 22, Start: id.Start, Boot: id.Boot},
	} {
		if other.Alive() && other != id {
			t.Errorf("%s: %+v is alive", name, other)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// A zombie has ended, though its number is not free yet.
	for deadline := time.Now().Add(5 * time.Second); id.Alive(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it was killed and is alive")
		}
	}
	if err := syscall.Kill(id.PID, 0); err != nil {
		t.Errorf("it is not there as a zombie: %v", err)
	}
	cmd.Wait()
	if id.Alive() {
		t.Error("it is gone and alive")
	}
}
