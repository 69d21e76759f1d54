package vm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt/test/rig"
)

// selected are the executor's tests that run in the machine. YURT_VM_TESTS picks
// others.
func selected() string {
	if pattern := os.Getenv("YURT_VM_TESTS"); pattern != "" {
		return pattern
	}
	return "."
}

// patience is how long the machine may take, emulated on a machine that is busy.
const patience = 8 * time.Minute

func TestExecutorOnCgroupV2(t *testing.T) {
	rig.NeedsSandboxes(t)
	began := time.Now()
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	k := getKernel(t.Context(), t)
	prepare(t, work)
	initrd, err := initramfs(filepath.Join(work, "guest"), k)
	if err != nil {
		t.Fatal(err)
	}
	m := machine{kernel: k, initrd: filepath.Join(dir, "initrd"), work: work, console: filepath.Join(dir, "console")}
	if err := os.WriteFile(m.initrd, initrd, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Logf("prepared in %s", time.Since(began).Round(time.Millisecond))

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	passed, booted := 0, time.Time{}
	started := time.Now()
	status, err := m.run(ctx, func(line string) {
		if booted.IsZero() {
			booted = time.Now()
			t.Logf("booted in %s", booted.Sub(started).Round(time.Millisecond))
		}
		if strings.HasPrefix(line, "--- PASS") {
			passed++
		}
		t.Log(line)
	})
	if err != nil || status != 0 || passed == 0 {
		console, _ := os.ReadFile(m.console)
		t.Errorf("the tests exited with %d, %d passed: %v\nthe kernel said:\n%s", status, passed, err, console)
	}
}

// prepare builds what the machine gets to see in its work directory.
func prepare(t *testing.T, work string) {
	t.Helper()
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	goTool(t, "build", "-o", filepath.Join(work, "guest"), "./test/vm/guest")
	goTool(t, "test", "-c", "-tags", "seccomp", "-o", filepath.Join(work, "executor.test"), "./executor")
	if err := os.CopyFS(filepath.Join(work, "bin"), os.DirFS(rig.Build(t).Dir)); err != nil {
		t.Fatal(err)
	}
	command := []string{"/run/vm/executor.test", "-test.v", "-test.timeout=" + patience.String(), "-test.run=" + selected()}
	if err := os.WriteFile(filepath.Join(work, "command"), []byte(strings.Join(command, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// goTool runs the go command at the top of the module, without cgo.
func goTool(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = rig.Root(t)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", fmt.Sprint(args), err, out)
	}
}
