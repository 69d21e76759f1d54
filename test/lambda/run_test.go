package lambda

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/testutil"
)

// runner runs functions with "yurt run".
type runner struct{ program, stateDir, tempDir string }

func newRunner(t *testing.T) *runner {
	t.Helper()
	testutil.NeedsSandboxes(t)
	return &runner{testutil.BuildYurt(t, "yurt", "test"), t.TempDir(), t.TempDir()}
}

// invocation is of one function, with the expected outcome. Empty text is not looked for.
type invocation struct {
	args   []string // after "yurt run"
	code   int
	stdout string // all of it
	stderr string // in it
}

func (r *runner) run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), r.program, append([]string{"run"}, args...)...)
	cmd.Env = append(os.Environ(), "YURT_STATE_DIR="+r.stateDir, "TMPDIR="+r.tempDir)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	exit := new(exec.ExitError)
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func (r *runner) want(t *testing.T, want invocation) {
	t.Helper()
	code, stdout, stderr := r.run(t, want.args...)
	if code != want.code || want.stdout != "" && stdout != want.stdout || !strings.Contains(stderr, want.stderr) {
		t.Errorf("%q: exit code %d, stdout %q, stderr %q; want %+v", want.args, code, stdout, stderr, want)
	}
}

// write makes files below a directory: a name, its text, and so on.
func write(t *testing.T, dir string, pairs ...string) {
	t.Helper()
	for pair := range slices.Chunk(pairs, 2) {
		name := filepath.Join(dir, pair[0])
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(pair[1]), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// copied returns a directory of the test's own with a copy of the files in another.
func copied(t *testing.T, from string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRunByThePythonClient has awslambdaric serve a function of "yurt run", whose exit code
// and output are those of any other.
func TestRunByThePythonClient(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	dir := copied(t, pythonPackages(t))
	write(t, dir, "app.py", pythonApp, "broken.py", "def handler(event, context) return 1")
	call := func(handler string, more ...string) []string {
		return append([]string{dir, "--handler", handler, "--runtime-client", "python3 -m awslambdaric " + handler}, more...)
	}
	for _, tt := range []invocation{
		{call("app.handler", "--event", `{"a": 1}`), 0, "call 1\n{\n  \"count\": 1,\n  \"event\": {\n    \"a\": 1\n  }\n}\n", ""},
		{call("app.handler", "--event", `{"do": "fail"}`), 1, "", "yurt: ValueError: no good\n"},
		{call("app.handler", "--event", `{"do": "exit"}`), 1, "call 1\n", "yurt: Runtime.ExitError: "},
		{call("app.handler", "--event", `{"do": "sleep", "__timeout": 3}`), 4, "", "yurt: ExecutionTimeout: "},
		{call("app.missing"), 3, "", "yurt: Runtime.HandlerNotFound: "},
		{call("broken.handler"), 3, "", "yurt: Runtime.UserCodeSyntaxError: "},
		{[]string{dir, "--handler", "app.handler", "--runtime-client", "python3"}, 1, "", "yurt: Runtime.ExitError: "},
		{[]string{dir, "--handler", "app.handler", "--runtime-client", "./none"}, 1, "", "yurt: CommandNotFound: ./none"},
	} {
		r.want(t, tt)
	}
	code, stdout, stderr := r.run(t, call("app.handler", "--json", "--profile", "--env", "V=2", "--event", `{"do": "context"}`,
		"--context", `{"function_name": "mine", "client_context": {"custom": {"k": "v"}}}`)...)
	var shown struct {
		Result  []any
		Stdout  string
		Profile map[string]any
	}
	if err := json.Unmarshal([]byte(stdout), &shown); err != nil || code != 0 || stderr != "" || len(shown.Result) != 8 {
		t.Fatalf("exit code %d, %v, stdout %q, stderr %q", code, err, stdout, stderr)
	}
	if shown.Result[1] != "mine" || shown.Result[6] != "2" || shown.Stdout != "call 1\n" || shown.Profile["wall_ms"] == nil {
		t.Errorf("%+v", shown)
	}
}

// TestRunCompiledFunction runs a compiled function: a file alone, and a directory, of which links
// come along, but not the hidden files at its top.
func TestRunCompiledFunction(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	dir := copied(t, goBuilt(t))
	write(t, dir, ".env", "PASSWORD=x", "go-on", "", "lib/.hidden/file", "")
	if err := os.Symlink("../bootstrap", filepath.Join(dir, "lib", "link")); err != nil {
		t.Fatal(err)
	}
	const printed = "call 1\n{\n  \"count\": 1,\n  \"id\": \"exe_\",\n  \"limited\": true,\n  \"name\": \"mine\"\n}\n"
	for _, tt := range []invocation{
		{[]string{filepath.Join(dir, "bootstrap"), "--handler", "mine", "--runtime-client", "./bootstrap"}, 0, printed, ""},
		{[]string{dir, "--handler", "mine", "--runtime-client", "test ! -e .env && test -e lib/.hidden/file && exec lib/link"}, 0, printed, ""},
		{[]string{dir, "--handler", "stream", "--runtime-client", "./bootstrap"}, 0, "onetwo", ""},
		{[]string{dir, "--handler", "mine", "--runtime-client", "./bootstrap", "--dep", "six"}, 1, "", "yurt: --language: say of which language the packages of --dep are"},
	} {
		r.want(t, tt)
	}
	large := filepath.Join(dir, "large")
	if err := errors.Join(os.WriteFile(large, nil, 0o644), os.Truncate(large, 1<<30)); err != nil {
		t.Fatal(err)
	}
	r.want(t, invocation{[]string{dir, "--handler", "mine", "--runtime-client", "./bootstrap"}, 1, "", "yurt: " + dir + " cannot be put into the sandbox: no space is left"})
}

const importer = `
import awslambdaric, os, sys
count = 0

def handler(event, context):
    global count
    count += 1
    return [count, awslambdaric.__file__.startswith("/run/yurt/layers/"), sys.argv[1]]
`

// TestRunInstallsTheClient has "yurt run" install the runtime client before it serves a
// function: the language is that of the file, or of the file that the handler is in.
func TestRunInstallsTheClient(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	dir := t.TempDir()
	write(t, dir, "src/app.py", importer, "other.js", "")
	for file, handler := range map[string]string{filepath.Join(dir, "src", "app.py"): "app.handler", dir: "src/app.handler"} {
		code, stdout, stderr := r.run(t, file, "--dep", "awslambdaric=="+awslambdaric, "--handler", handler, "--json",
			"--runtime-client", "/usr/bin/python3 -m awslambdaric "+handler)
		var shown struct{ Result []any }
		if err := json.Unmarshal([]byte(stdout), &shown); err != nil || code != 0 || !slices.Equal(shown.Result, []any{1.0, true, handler}) {
			t.Errorf("%s: exit code %d, %v, stdout %q, stderr %q", handler, code, err, stdout, stderr)
		}
	}
}

// TestDependenciesByREST installs the client for functions of a session. Functions that need
// other packages are others.
func TestDependenciesByREST(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "app.py", importer)
	s := newSession(t, dir, "/workspace")
	client := "awslambdaric==" + awslambdaric
	for _, tt := range []struct {
		dependencies []string
		want         string
	}{
		{[]string{client}, `[1,true,"app.handler"]`},
		{[]string{client}, `[2,true,"app.handler"]`},
		{[]string{client, "six==1.16.0"}, `[1,true,"app.handler"]`},
		{[]string{client}, `[3,true,"app.handler"]`},
	} {
		execution, err := s.Execute(t.Context(), s.id, yurtclient.ExecuteRequest{
			Command: yurtclient.Command{Argv: []string{"python3", "-m", "awslambdaric", "app.handler"}},
			Handler: "app.handler", Dependencies: tt.dependencies,
		})
		if err != nil {
			t.Fatal(err)
		}
		if r := execution.Result; string(r.Result) != tt.want || r.Error != nil {
			t.Errorf("with %q: result %s, error %+v, stderr %q; want %s", tt.dependencies, r.Result, r.Error, r.Stderr, tt.want)
		}
	}
	cmd := exec.CommandContext(t.Context(), s.yurt, "session", "exec", "--handler", "app.handler", "--dep", client, s.id, "--", "python3", "-m", "awslambdaric", "app.handler")
	cmd.Env = append(os.Environ(), "YURT_SERVER="+s.url)
	if out, err := cmd.Output(); err != nil || !strings.HasPrefix(string(out), "[\n  4,\n  true,") {
		t.Errorf("on the command line: %v, %q", err, out)
	}
}
