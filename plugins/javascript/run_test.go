package javascript_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
	"github.com/yurtrun/yurt/plugins/javascript"
)

// outcome is the outcome of carrying out a plan.
type outcome struct {
	code           int
	stdout, stderr string
	result         json.RawMessage
	err            *yurt.ExecutionError
	handler        string // that was called, of code
	cut            bool
}

// run plans req and carries the plan out on this host, without any isolation: the code
// in these tests is ours. files are in the working directory.
func run(t testing.TB, files map[string]string, req plugins.PlanRequest) outcome {
	t.Helper()
	req.Root, req.Dir = t.TempDir(), t.TempDir()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("these tests need Node: %v", err)
	}
	req.Tools = map[string]string{"node": node}
	plan, err := javascript.Runtime{}.Plan(t.Context(), req)
	if err != nil {
		t.Fatalf("planning: %v", err)
	}
	if err := plan.Validate(); err != nil {
		t.Fatalf("the plan is not valid: %v", err)
	}
	for name, text := range files {
		write(t, filepath.Join(req.Root, name), []byte(text))
	}
	for _, f := range plan.Files {
		write(t, filepath.Join(req.Dir, f.Path), f.Data)
	}
	got := start(t, req.Root, plan)
	if got.err == nil && got.code != 0 {
		got.err = javascript.InterpretNode(plugins.Failure{Output: []byte(got.stderr), Root: req.Root, Dir: req.Dir, Entry: req.Entry})
	}
	return got
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func start(t testing.TB, dir string, plan plugins.Plan) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, plan.Argv[0], plan.Argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.ExtraFiles = []*os.File{w} // descriptor 3
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	told, err := io.ReadAll(r)
	var exit *exec.ExitError
	if waitErr := cmd.Wait(); err != nil || waitErr != nil && !errors.As(waitErr, &exit) {
		t.Fatalf("running node: %v, %v", err, waitErr)
	}
	out := outcome{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
	if len(told) > 0 {
		said, err := plugins.DecodeEnvelope(told)
		if err != nil {
			t.Fatalf("decoding the envelope %.300q: %v", told, err)
		}
		out.result, out.err, out.handler, out.cut = said.Result, said.Error, said.Handler, said.Cut
	}
	return out
}

func code(source string, args ...string) plugins.PlanRequest {
	return plugins.PlanRequest{ExecutionID: "exe_test", Kind: yurt.KindCode, Language: "javascript", Code: source, Args: args}
}

func handler(source, event string) plugins.PlanRequest {
	return plugins.PlanRequest{
		ExecutionID: "exe_test", Kind: yurt.KindHandler, Language: "javascript", Code: source, Event: []byte(event),
		Timeout: yurt.Duration(10 * time.Second), MemoryLimit: 256 << 20,
	}
}
