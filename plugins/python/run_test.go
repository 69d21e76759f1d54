package python_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/python"
)

// outcome is the outcome of carrying out a plan.
type outcome struct {
	code           int
	stdout, stderr string
	envelope       []byte
	result         json.RawMessage
	err            *yurt.ExecutionError
	handler        string // that was called, of code
	cut            bool
}

// sandbox is a workspace in which plans are carried out, on this host and without
// any isolation: the code in these tests is ours.
type sandbox struct {
	workspace string
	env       []string
}

func newSandbox(t testing.TB, files map[string]string) sandbox {
	t.Helper()
	s := sandbox{workspace: t.TempDir()}
	for name, content := range files {
		write(t, s.workspace, name, []byte(content), 0o644)
	}
	return s
}

// run plans req and carries the plan out, as the executor does.
func (s sandbox) run(t testing.TB, req plugins.PlanRequest) outcome {
	t.Helper()
	req.Dir = t.TempDir()
	plan, err := python.Runtime{}.Plan(t.Context(), req)
	if err != nil {
		t.Fatalf("planning: %v", err)
	}
	if err := plan.Validate(); err != nil {
		t.Fatalf("the plan is not valid: %v", err)
	}
	for _, f := range plan.Files {
		write(t, req.Dir, f.Path, f.Data, f.Mode)
	}
	return s.start(t, plan)
}

func (s sandbox) start(t testing.TB, plan plugins.Plan) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	resultR, resultW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer resultR.Close()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, interpreter(), plan.Argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.workspace, &stdout, &stderr
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	for name, value := range maps.All(plan.Env) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Env = append(cmd.Env, s.env...)
	cmd.ExtraFiles = []*os.File{resultW} // descriptor 3
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	resultW.Close()
	envelope, err := io.ReadAll(resultR)
	if err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("running python: %v", err)
	}
	out := outcome{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String(), envelope: envelope}
	if len(envelope) > 0 {
		told, err := plugins.DecodeEnvelope(envelope)
		if err != nil {
			t.Fatalf("decoding the envelope %.300q: %v", envelope, err)
		}
		out.result, out.err, out.handler, out.cut = told.Result, told.Error, told.Handler, told.Cut
	}
	return out
}

// interpreter is the Python of these tests. To try another version, set
// YURT_TEST_PYTHON to its path.
func interpreter() string { return cmp.Or(os.Getenv("YURT_TEST_PYTHON"), "/usr/bin/python3") }

func write(t testing.TB, dir, name string, data []byte, mode os.FileMode) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, mode); err != nil {
		t.Fatal(err)
	}
}

func code(source string) plugins.PlanRequest {
	return plugins.PlanRequest{ExecutionID: "exe_test", Kind: yurt.KindCode, Language: "python", Code: source}
}

func handler(source, event string) plugins.PlanRequest {
	return plugins.PlanRequest{
		ExecutionID: "exe_test",
		Kind:        yurt.KindHandler,
		Language:    "python",
		Code:        source,
		Event:       []byte(event),
		Timeout:     yurt.Duration(10 * time.Second),
		MemoryLimit: 256 << 20,
	}
}
