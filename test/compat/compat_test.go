package compat

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/testutil"
)

// work is a shell script that must end well and print the wanted text.
type work struct {
	name, script, want string
}

// workshop is a sandbox in which toolchains of the host are found.
type workshop struct {
	*executor.Executor

	sandbox string
	env     map[string]string
}

func newWorkshop(t *testing.T, groups ...string) *workshop {
	t.Helper()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.Transient = true
	goRoot := output(t, "go", "env", "GOROOT")
	npm := testutil.Npm(t)
	more := []string{goRoot, npm}
	java, err := filepath.Glob("/etc/java-*-openjdk") // where Debian keeps a JDK's settings
	if err != nil {
		t.Fatal(err)
	}
	config.HostPaths = append(append(yurt.DefaultHostPaths(), more...), java...)
	w := &workshop{Executor: testutil.Start(t, config), env: map[string]string{
		"PATH": filepath.Join(goRoot, "bin") + ":/usr/bin:/bin", "NPM": npm, "HOME": yurt.WorkspaceDir, "LC_ALL": "C.UTF-8",
	}}
	spec := testutil.Spec()
	spec.Template.RootFS.HostPaths = below(config.HostPaths)
	spec.Template.Isolation.SystemCalls = groups
	spec.Resources = yurt.Resources{CPU: 2, Memory: 3 << 30, Disk: 1 << 30, PIDs: 1024}
	s, err := w.CreateSandbox(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	w.sandbox = s.ID
	return w
}

// below leaves out the paths that are in another of the paths.
func below(paths []string) []string {
	var list []string
	for _, path := range paths {
		if !strings.HasPrefix(path, "/usr/") {
			list = append(list, path)
		}
	}
	return list
}

// output returns the output of a program of the host.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).Output()
	if err != nil {
		t.Fatalf("running %s: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}

func (w *workshop) do(t *testing.T, works []work) {
	for _, work := range works {
		t.Run(work.name, func(t *testing.T) {
			dir := strings.ReplaceAll(work.name, " ", "-")
			script := "set -eu; mkdir " + dir + "; cd " + dir + "\n" + work.script
			spec := yurt.ExecutionSpec{
				ID: yurt.NewExecutionID(), Kind: yurt.KindCommand, Command: []string{"/bin/bash", "-c", script},
				Env: w.env, Timeout: yurt.Duration(testutil.Moment(t, 5*time.Minute)), OutputLimit: 1 << 20,
			}
			if err := w.StartExecution(t.Context(), w.sandbox, spec); err != nil {
				t.Fatal(err)
			}
			r, err := w.WaitExecution(t.Context(), w.sandbox, spec.ID)
			if err != nil {
				t.Fatal(err)
			}
			if r.ExitCode != 0 || r.Error != nil || !strings.HasSuffix(r.Stdout, work.want) {
				t.Errorf("exit %d, %+v, want %q\n%.3000s\n%.3000s", r.ExitCode, r.Error, work.want, r.Stdout, r.Stderr)
			}
		})
	}
}

func TestTools(t *testing.T) {
	w := newWorkshop(t)
	t.Run("python", func(t *testing.T) { w.do(t, pythonWorks()) })
	t.Run("node", func(t *testing.T) { w.do(t, nodeWorks()) })
	t.Run("compilers", func(t *testing.T) { w.do(t, compilerWorks()) })
	t.Run("system", func(t *testing.T) { w.do(t, systemWorks()) })
}

// TestDebuggers: with the group ptrace debuggers work; without it they are refused, and say so.
func TestDebuggers(t *testing.T) {
	newWorkshop(t, yurt.CallsPtrace).do(t, debuggerWorks())
	newWorkshop(t).do(t, []work{{
		name: "no tracing",
		script: `
cat > work.py <<'END'
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
assert libc.ptrace(0, 0, None, None) == -1
print(errno.errorcode[ctypes.get_errno()])
END
/usr/bin/python3 work.py
`, want: "EPERM\n",
	}})
}
