package vm

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt/test/testutil"
)

// shortTests are the executor's tests that run in the machine each time: one for most mechanisms that
// differ on cgroup v2. They assert no durations.
func shortTests() []string {
	return []string{
		"TestCommandResult",             // processes born in their cgroup, and failing starts
		"TestForksAreLimited",           // runs in cgroups of their own, which end with them
		"TestIsolation",                 // cgroup namespace, device rules, no inherited state
		"TestTimeoutEndsTheWholeTree",   // cgroup.kill
		"TestPausedSandboxStandsStill",  // cgroup.freeze
		"TestMemoryLimit",               // memory.max, memory.events, memory.peak
		"TestProcessLimit",              // pids.max
		"TestDoctorAgreesWithWhatWorks", // and says version 2
	}
}

// testsEnv names tests of the executor to run instead, by a regular expression.
const testsEnv = "YURT_VM_TESTS"

// patience is how long the machine may take, emulated and on a host that is busy.
const patience = 28 * time.Minute

// TestExecutorOnCgroupV2 runs a few of the executor's tests on cgroup v2 alone. TestAllOnCgroupV2, with the build tag long,
// runs all that differ there.
func TestExecutorOnCgroupV2(t *testing.T) { testExecutor(t, shortTests()) }

// testExecutor runs tests of the executor in a machine.
func testExecutor(t *testing.T, names []string) {
	t.Helper()
	m := prepare(t)
	goTool(t, "test", "-c", "-tags", "seccomp", "-o", filepath.Join(m.work, "executor.test"), "./executor/node")
	pattern := cmp.Or(os.Getenv(testsEnv), "^("+strings.Join(names, "|")+")$")
	m.command(t, "/run/vm/executor.test", "-test.v", "-test.timeout="+patience.String(), "-test.run="+pattern)
	passed, output := m.test(t)
	if os.Getenv(testsEnv) != "" {
		t.Log(output)
		return
	}
	for _, name := range names {
		if !passed[name] {
			t.Errorf("%s did not pass in the virtual machine", name)
		}
	}
}

// test runs the machine, and returns which tests passed and their output.
func (m machine) test(t *testing.T) (passed map[string]bool, output string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var text strings.Builder
	passed = make(map[string]bool)
	started, booted := time.Now(), time.Time{}
	status, err := m.run(ctx, func(line string) {
		if booted.IsZero() {
			booted = time.Now()
		}
		text.WriteString(line + "\n")
		if fields := strings.Fields(line); len(fields) > 2 && strings.HasPrefix(line, "--- PASS: ") {
			passed[fields[2]] = true
			t.Log(line)
		}
	})
	t.Logf("%s, booted in %s, tested in %s", m.accelerator.name, booted.Sub(started).Round(time.Millisecond), time.Since(booted).Round(time.Millisecond))
	if err != nil || status != 0 {
		t.Errorf("in the virtual machine the tests exited with %d, %v\n%s\nits kernel said:\n%s", status, err, text.String(), m.messages())
	}
	return passed, text.String()
}

// prepare builds the parts of a machine, with Yurt's programs in it, and more in the environment of
// its tests.
func prepare(t *testing.T, environment ...string) machine {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a virtual machine; run without -short")
	}
	dir := t.TempDir()
	m := machine{
		kernel: getKernel(t), accelerator: chooseAccelerator(),
		initrd: filepath.Join(dir, "initrd"), work: filepath.Join(dir, "work"), console: filepath.Join(dir, "console"),
	}
	guest := filepath.Join(dir, "guest")
	goTool(t, "build", "-o", guest, "./test/vm/guest")
	initrd, err := initramfs(guest, m.kernel)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, m.initrd, string(initrd))

	bin := filepath.Join(m.work, "bin")
	b := testutil.Build(t)
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{b.Init, b.Launcher, b.Unpacker, b.Files, b.PluginDir} {
		copyPrograms(t, source, filepath.Join(bin, filepath.Base(source)))
	}
	writeFile(t, filepath.Join(m.work, "environment"), strings.Join(append(environment,
		"YURT_TEST_BIN=/run/vm/bin", "YURT_TEST_COMPLETE=1", "YURT_TEST_SLOWNESS="+m.accelerator.slowness,
	), "\n"))
	return m
}

// command sets the command that runs in the machine.
func (m machine) command(t *testing.T, words ...string) {
	t.Helper()
	writeFile(t, filepath.Join(m.work, "command"), strings.Join(words, "\n"))
}

// goTool runs the go command at the top of the module, without cgo.
func goTool(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = testutil.Root(t)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func writeFile(t *testing.T, path, data string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

// copyPrograms copies a program, or those of a directory.
func copyPrograms(t *testing.T, source, target string) {
	t.Helper()
	info, err := os.Stat(source)
	if err == nil && info.IsDir() {
		err = os.CopyFS(target, os.DirFS(source))
	} else if err == nil {
		var data []byte
		if data, err = os.ReadFile(source); err == nil {
			err = os.WriteFile(target, data, 0o755)
		}
	}
	if err != nil {
		t.Fatalf("copying what was built: %v", err)
	}
}
