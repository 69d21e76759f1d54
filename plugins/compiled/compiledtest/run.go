package compiledtest

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// Outcome is the outcome of carrying out a plan.
type Outcome struct {
	Code           int // of the step that failed, or of the program; -1 after a signal
	Stdout, Stderr string
	Err            *yurt.ExecutionError // the runtime's interpretation of a failure
}

// Host is where plans are carried out: directories as a sandbox has them.
type Host struct {
	Root, OutDir, CacheDir string
	Env                    []string // added to the plan's
	// Tools are paths of tools that are not at their usual places; one that is "" is as if it were not there.
	Tools map[string]string
}

// NewHost returns a host with directories of its own. In short mode the test is skipped:
// it needs toolchains that building does not.
func NewHost(t testing.TB) Host {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles with real compilers; run without -short")
	}
	return Host{Root: t.TempDir(), OutDir: t.TempDir(), CacheDir: t.TempDir()}
}

// Snippet returns the request to run a snippet.
func Snippet(code string, args ...string) plugins.PlanRequest {
	return plugins.PlanRequest{ExecutionID: "exe_test", Kind: yurt.KindCode, Code: code, Args: args, MemoryLimit: 1 << 30}
}

// Project returns the request to run the entry among files.
func Project(entry string, files map[string]string, args ...string) plugins.PlanRequest {
	req := Snippet("", args...)
	req.Entry = entry
	for path, data := range maps.All(files) {
		req.Files = append(req.Files, plugins.File{Path: path, Data: []byte(data)})
	}
	return req
}

// Run plans req and carries the plan out, as the executor does.
func (h Host) Run(t testing.TB, runtime plugins.Runtime, req plugins.PlanRequest, stdin string) Outcome {
	t.Helper()
	req.Dir, req.Root, req.OutDir, req.CacheDir = t.TempDir(), h.Root, h.OutDir, h.CacheDir
	req.Tools = h.tools(t, runtime)
	plan, err := runtime.Plan(t.Context(), req)
	if err != nil {
		t.Fatalf("planning: %v", err)
	}
	if err := plan.Validate(); err != nil {
		t.Fatalf("the plan is not valid: %v", err)
	}
	write(t, req.Root, req.Files)
	write(t, req.Dir, plan.Files)
	failure := plugins.Failure{Root: req.Root, Dir: req.Dir, OutDir: req.OutDir, Entry: req.Entry}
	for i, step := range plan.Compile {
		out := h.command(t, step.Argv, "", plan.Env, step.Env)
		if out.Code != 0 {
			failure.Phase, failure.Step, failure.Output = plugins.PhaseCompile, i, []byte(out.Stdout+out.Stderr)
			return interpret(t, runtime, failure, out)
		}
	}
	out := h.command(t, plan.Argv, stdin, plan.Env)
	if out.Code != 0 && plan.Interpret {
		failure.Phase, failure.Output = plugins.PhaseRun, []byte(out.Stderr[max(0, len(out.Stderr)-plugins.MaxInterpretedBytes):])
		return interpret(t, runtime, failure, out)
	}
	return out
}

func interpret(t testing.TB, runtime plugins.Runtime, failure plugins.Failure, out Outcome) Outcome {
	t.Helper()
	failure.ExitCode = out.Code
	var err error
	if interpreter, ok := runtime.(plugins.Interpreter); ok {
		out.Err, err = interpreter.Interpret(t.Context(), failure)
	}
	if err != nil {
		t.Fatalf("interpreting: %v", err)
	}
	return out
}

func (h Host) command(t testing.TB, argv []string, stdin string, env ...map[string]string) Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = h.Root, strings.NewReader(stdin), &stdout, &stderr
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + h.Root, "LANG=C.UTF-8"}
	for _, layer := range env {
		for name, value := range maps.All(layer) {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Env = append(cmd.Env, h.Env...)
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("running %s: %v", argv[0], err)
	}
	return Outcome{Code: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
}

// tools are where the toolchain is on this host.
func (h Host) tools(t testing.TB, runtime plugins.Runtime) map[string]string {
	t.Helper()
	info, err := runtime.Describe(t.Context())
	if err != nil {
		t.Fatalf("describing: %v", err)
	}
	found := map[string]string{}
	for _, tool := range info.Tools {
		if path, ok := h.Tools[tool.Name]; ok {
			if path != "" {
				found[tool.Name] = path
			}
			continue
		}
		for _, path := range tool.Paths {
			if _, err := os.Stat(path); err == nil {
				found[tool.Name] = path
				break
			}
		}
		if found[tool.Name] == "" && !tool.Optional {
			t.Fatalf("%s is not here: %s", tool.Name, tool.Install)
		}
	}
	return found
}

func write(t testing.TB, dir string, files []plugins.File) {
	t.Helper()
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Check compares how a run failed. No kind means that there is no error to tell; no
// stack means that it is not looked at.
func (o Outcome) Check(t testing.TB, exit int, kind, text string, stack []string) {
	t.Helper()
	if o.Code != exit {
		t.Errorf("exit code %d, want %d\n%s", o.Code, exit, o.Stderr)
	}
	if kind == "" {
		if o.Err != nil {
			t.Errorf("the error is %+v; there should be none", o.Err)
		}
		return
	}
	if o.Err == nil {
		t.Fatalf("there is no error; want %s: %s\n%s", kind, text, o.Stderr)
	}
	if o.Err.Type != kind || o.Err.Message != text || stack != nil && !slices.Equal(o.Err.Stacktrace, stack) {
		t.Errorf("the error is\n%s: %s\n%q\nwant\n%s: %s\n%q\nof\n%s", o.Err.Type, o.Err.Message, o.Err.Stacktrace, kind, text, stack, o.Stdout+o.Stderr)
	}
}
