package lambda

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

const awslambdaric = "4.2.2"

const pythonApp = `
import os, sys, time
count = 0

def handler(event, context):
    global count
    count += 1
    print("call", count)
    do = event.get("do")
    if do == "fail": raise ValueError("no good")
    if do == "exit": os._exit(7)
    if do == "kill": os.kill(os.getpid(), 9)
    if do == "sleep":
        os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "1000")
        time.sleep(1000)
    if do == "context":
        return [context.aws_request_id, context.function_name, context.memory_limit_in_mb, context.invoked_function_arn,
                context.client_context.custom["k"], 0 < context.get_remaining_time_in_millis() <= 300000, os.environ["V"], os.environ["LAMBDA_TASK_ROOT"]]
    return {"count": count, "event": event}
`

// pythonPackages returns a directory with the official client.
func pythonPackages(t *testing.T) string {
	t.Helper()
	return cached(t, "awslambdaric-"+awslambdaric, func(dir string) {
		install := exec.CommandContext(t.Context(), "/usr/bin/python3", "-m", "pip", "install", "--quiet", "--no-cache-dir", "--root-user-action", "ignore",
			"--target", dir, "awslambdaric=="+awslambdaric)
		if out, err := install.CombinedOutput(); err != nil {
			t.Fatalf("installing awslambdaric: %v\n%s", err, out)
		}
	})
}

// pythonFunction returns a function of the official client, and the sandbox that has it.
func pythonFunction(t *testing.T, handler, source string) (*sandbox, function) {
	t.Helper()
	testutil.NeedsSandboxes(t)
	s := newSandbox(t)
	s.upload(t, pythonPackages(t), "/workspace/packages")
	return s, function{
		command: []string{"/usr/bin/python3", "-m", "awslambdaric", handler}, handler: handler,
		files: map[string]string{"app.py": source}, env: map[string]string{"PYTHONPATH": "/workspace/packages", "V": "1"},
	}
}

func TestPythonClient(t *testing.T) {
	t.Parallel()
	s, f := pythonFunction(t, "app.handler", pythonApp)
	if r := s.want(t, f, `{"a":"ü<"}`, `{"count":1,"event":{"a":"\u00fc<"}}`, "call 1\n"); r.KernelRestarted {
		t.Error("the first process is said to be in place of another")
	}
	s.want(t, f, `{}`, `{"count":2,"event":{}}`, "call 2\n")
	r := s.wantError(t, f, `{"do":"fail"}`, "ValueError")
	if trace := strings.Join(r.Error.Stacktrace, ""); r.Error.Message != "no good" || !strings.Contains(trace, "app.py") || r.StateLost {
		t.Errorf("error %+v, state lost: %t", r.Error, r.StateLost)
	}
	s.want(t, f, `{}`, `{"count":4,"event":{}}`, "call 4\n")

	named := f
	named.context = `{"client_context":{"custom":{"k":"v"}}}`
	spec := named.invocation(`{"do":"context"}`)
	r = s.run(t, spec)
	var fields []any
	if err := json.Unmarshal(r.Result, &fields); err != nil || len(fields) != 8 {
		t.Fatalf("result %s: %v; error %+v, stderr %q", r.Result, err, r.Error, r.Stderr)
	}
	for i, want := range []any{spec.ID, "handler", "512", "arn:aws:lambda:us-east-1:000000000000:function:handler", "v", true, "1", "/workspace"} {
		if fields[i] != want && i != 2 {
			t.Errorf("field %d of the context is %v, want %v", i, fields[i], want)
		}
	}
}

// TestPythonProcessEnds has the process end in the middle of an invocation: the
// next one starts another and says so.
func TestPythonProcessEnds(t *testing.T) {
	t.Parallel()
	s, f := pythonFunction(t, "app.handler", pythonApp)
	s.want(t, f, `{}`, `{"count":1,"event":{}}`, "call 1\n")
	for _, how := range []struct {
		event, kind, message string
		timeout              time.Duration
		code                 int
	}{
		{`{"do":"exit"}`, "Runtime.ExitError", "exit status 7", 0, 7},
		{`{"do":"kill"}`, "Runtime.ExitError", "signal: killed", 0, 137},
		{`{"do":"sleep"}`, yurt.ErrorTypeTimeout, "10s", 10 * time.Second, yurt.ExecutionExitTimeout},
	} {
		slow := f
		slow.timeout = how.timeout
		r := s.wantError(t, slow, how.event, how.kind)
		if !r.StateLost || !strings.Contains(r.Error.Message, how.message) || r.ExitCode != how.code || !strings.HasPrefix(r.Stdout, "call ") {
			t.Errorf("%s: state lost: %t, exit code %d, %+v, stdout %q", how.event, r.StateLost, r.ExitCode, r.Error, r.Stdout)
		}
		if r := s.want(t, f, `{}`, `{"count":1,"event":{}}`, "call 1\n"); !r.KernelRestarted {
			t.Errorf("%s: the invocation after it is not told that the process is another", how.event)
		}
	}
	processes, err := s.e.Processes(t.Context(), s.id)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		if strings.Contains(strings.Join(p.Args, " "), "sleep") {
			t.Errorf("%v outlived the invocation that ran out of time", p.Args)
		}
	}
}

func TestPythonInitError(t *testing.T) {
	t.Parallel()
	s, f := pythonFunction(t, "app.handler", "import nothing_of_the_kind")
	for range 2 {
		r := s.wantError(t, f, `{}`, "Runtime.ImportModuleError")
		if !strings.Contains(r.Error.Message, "nothing_of_the_kind") || !r.StateLost {
			t.Errorf("%+v, state lost: %t", r.Error, r.StateLost)
		}
	}
	// Mended, with the same file of the session's, it loads in the next process.
	f.files = nil
	if _, err := s.e.WriteFile(t.Context(), s.id, "/workspace/app.py", strings.NewReader("import none"), yurt.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.wantError(t, f, `{}`, "Runtime.ImportModuleError")
	if _, err := s.e.WriteFile(t.Context(), s.id, "/workspace/app.py", strings.NewReader("def handler(event, context): return 1"), yurt.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if r := s.want(t, f, `{}`, "1", ""); !r.KernelRestarted {
		t.Error("the invocation after one whose process failed to load is not told that it is another")
	}
	f.command = []string{"/usr/bin/nothing-of-the-kind"}
	s.wantError(t, f, `{}`, yurt.ErrorTypeCommandNotFound)
	f.command = []string{"/bin/true"}
	s.wantError(t, f, `{}`, "Runtime.ExitError")
}
