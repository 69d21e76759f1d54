package node_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/testutil"
)

// luaSandbox returns a sandbox that runs Lua, by the example of a runtime, whose plans
// have a compile step.
func luaSandbox(t testing.TB) (*executor.Executor, string) {
	t.Helper()
	testutil.NeedsSandboxes(t)
	binaries := testutil.Build(t)
	binaries.PluginDir = binaries.ExampleDir
	config := testutil.Config(t, binaries)
	config.Transient = true
	e := testutil.Start(t, config)
	return e, testutil.Create(t, e, func(s *yurt.SandboxSpec) { s.Template.Runtimes = []string{"lua"} }).ID
}

// lua is an execution of Lua code.
func lua(code string, change ...func(*yurt.ExecutionSpec)) yurt.ExecutionSpec {
	return testutil.Python(code, append([]func(*yurt.ExecutionSpec){func(s *yurt.ExecutionSpec) { s.Language = "lua" }}, change...)...)
}

func project(entry string, files map[string]string, args ...string) func(*yurt.ExecutionSpec) {
	return func(s *yurt.ExecutionSpec) {
		s.Code, s.Entry, s.Args = "", entry, args
		for path, text := range files {
			s.Files = append(s.Files, yurt.SourceFile{Path: path, Data: []byte(text)})
		}
	}
}

func TestCompileSteps(t *testing.T) {
	t.Parallel()
	e, sandbox := luaSandbox(t)
	files := map[string]string{"src/main.lua": "local lib = require('lib')\nprint(lib(...))", "src/lib.lua": "return function(...) return #{...}, ... end"}
	tests := []struct {
		name           string
		spec           yurt.ExecutionSpec
		exit           int
		stdout         string
		kind, message  string
		stack          []string
		stderrContains string
	}{
		{name: "snippet", spec: lua("io.write('hi')"), stdout: "hi"},
		{name: "exit code", spec: lua("io.write('a'); os.exit(7)"), exit: 7, stdout: "a"},
		{name: "project", spec: lua("", project("src/main.lua", files, "a", "b c")), stdout: "2\ta\tb c\n"},
		{name: "arguments of a snippet", spec: lua("print(...)", func(s *yurt.ExecutionSpec) { s.Args = []string{"-p", ""} }), stdout: "-p\t\n"},
		{name: "stdin goes to the program", spec: lua("print(io.read('a'))", func(s *yurt.ExecutionSpec) { s.Stdin = []byte("given") }), stdout: "given\n"},
		{
			name: "compile error", spec: lua("print('never')\n\nlocal y = = 2\n"), exit: 1, kind: yurt.ErrorTypeCompile,
			message: "main.lua:3: unexpected symbol near '='", stack: []string{"main.lua:3"}, stderrContains: "unexpected symbol",
		},
		{
			name: "compile error in a project", spec: lua("", project("bad.lua", map[string]string{"bad.lua": "return ("})), exit: 1,
			kind: yurt.ErrorTypeCompile, message: "bad.lua:1: unexpected symbol near <eof>", stack: []string{"bad.lua:1"},
		},
		{
			name: "run-time error", spec: lua("local function f()\n  error('boom')\nend\nf()"), exit: 1, kind: "LuaError", message: "boom",
			stack: []string{"main.lua:4: in main chunk", "main.lua:2: in local 'f'"}, stderrContains: "boom",
		},
		{name: "died of a signal", spec: lua("os.execute('kill -SEGV $PPID')"), exit: 139, kind: yurt.ErrorTypeSignaled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := testutil.Execute(t, e, sandbox, tt.spec)
			if r.ExitCode != tt.exit || r.Stdout != tt.stdout || !strings.Contains(r.Stderr, tt.stderrContains) {
				t.Errorf("exit %d, stdout %q, stderr %q, error %+v", r.ExitCode, r.Stdout, r.Stderr, r.Error)
			}
			if tt.kind == "" {
				if r.Error != nil {
					t.Errorf("unexpected error %+v", r.Error)
				}
				return
			}
			testutil.WantErrorType(t, r, tt.kind)
			if tt.message != "" && (r.Error.Message != tt.message || !slices.Equal(r.Error.Stacktrace, tt.stack)) {
				t.Errorf("error %q at %q, want %q at %q", r.Error.Message, r.Error.Stacktrace, tt.message, tt.stack)
			}
		})
	}
	// A run is cleaned up after its result is told.
	testutil.Eventually(t, "nothing of the runs is left", func() bool {
		return testutil.Run(t, e, sandbox, "find /tmp -name '.yurt-out*'; find /run/yurt -mindepth 1 ! -name packages.sock").Stdout == ""
	})
}

// TestStepsTimeOut has an execution end in its timeout after its steps: for the timeout, the whole tree is one process.
func TestStepsTimeOut(t *testing.T) {
	t.Parallel()
	e, sandbox := luaSandbox(t)
	r := testutil.Execute(t, e, sandbox, lua("print('begun') io.stdout:flush() while true do end", testutil.Timeout(testutil.Moment(t, time.Second))))
	testutil.WantErrorType(t, r, yurt.ErrorTypeTimeout)
	if r.Stdout != "begun\n" {
		t.Errorf("stdout is %q", r.Stdout)
	}
}

// TestForgedReports has a program write the report that init's binary writes when a step fails. It deceives its author
// alone, and does no other harm.
func TestForgedReports(t *testing.T) {
	t.Parallel()
	e, sandbox := luaSandbox(t)
	for name, forged := range map[string]string{
		"a failed step":   `{"failed_step":{"step":0,"exit_code":1}}`,
		"a step too many": `{"failed_step":{"step":9,"exit_code":1}}`,
		"no JSON":         `{"failed_step":`,
		"an envelope":     `{"result":1}`,
	} {
		r := testutil.Execute(t, e, sandbox, lua("os.execute([[echo '"+forged+"' >&3]]) print('ran')"))
		if r.Stdout != "ran\n" {
			t.Errorf("%s: %+v", name, r)
		}
		// A plan that hands over no result leaves its program no descriptor to forge on.
		if r.Error != nil || r.ExitCode != 0 {
			t.Errorf("%s: exit %d, error %+v", name, r.ExitCode, r.Error)
		}
	}
}

// TestMissingToolchain has a template without the language's programs.
func TestMissingToolchain(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	binaries := testutil.Build(t)
	binaries.PluginDir = binaries.ExampleDir
	config := testutil.Config(t, binaries)
	config.Transient = true
	e := testutil.Start(t, config)
	s := testutil.Create(t, e, func(s *yurt.SandboxSpec) {
		s.Template.Runtimes = []string{"lua"}
		s.Template.RootFS.HostPaths = []string{"/usr/bin/env"}
	})
	err := e.StartExecution(t.Context(), s.ID, lua("print(1)"))
	if yurt.CodeOf(err) != yurt.CodeLanguageNotSupported {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{"template test has no lua", "/usr/bin/lua5.4", "apt-get install lua5.4"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error has no %q: %v", part, err)
		}
	}
}

func TestProjects(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	files := map[string]string{"app/main.py": "import sys, lib\nprint(lib.name, sys.argv[1:], open('data.txt').read())", "app/lib.py": "name = 'lib'", "data.txt": "data"}
	r := testutil.Execute(t, e, s.ID, testutil.Python("", project("app/main.py", files, "x", "y z")))
	if want := "lib ['x', 'y z'] data\n"; r.Stdout != want || r.Error != nil {
		t.Errorf("stdout %q, error %+v, want %q", r.Stdout, r.Error, want)
	}
	// The files stay, and an entry among them needs no upload.
	if r := testutil.Execute(t, e, s.ID, testutil.Python("", project("app/main.py", nil, "again"))); r.Stdout != "lib ['again'] data\n" {
		t.Errorf("stdout %q, stderr %q", r.Stdout, r.Stderr)
	}
	r = testutil.Execute(t, e, s.ID, testutil.Python("", project("app/bad.py", map[string]string{"app/bad.py": "x = 1\n1 / 0"})))
	testutil.WantErrorType(t, r, "ZeroDivisionError")
	// Some versions of Python mark the place below the line.
	if want := "  File \"app/bad.py\", line 2, in <module>\n    1 / 0"; len(r.Error.Stacktrace) != 1 || !strings.HasPrefix(r.Error.Stacktrace[0], want) {
		t.Errorf("the stack is %q, want %q", r.Error.Stacktrace, want)
	}
	if r := testutil.Run(t, e, s.ID, "cat sub/x", project("", map[string]string{"sub/x": "of a command"})); r.Stdout != "of a command" {
		t.Errorf("files of a command: %+v", r)
	}
}

func TestBadProjects(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	s := testutil.Create(t, e)
	if r := testutil.Run(t, e, s.ID, "ln -s /etc link; mkdir dir; ln -s /etc/passwd main.py"); r.ExitCode != 0 {
		t.Fatal(r)
	}
	tests := []struct {
		name   string
		change func(*yurt.ExecutionSpec)
		want   yurt.Code
	}{
		{"an entry that is not there", project("none.py", nil), yurt.CodeFileNotFound},
		{"an entry that leads out", project("../etc/passwd", nil), yurt.CodePathOutsideWorkspace},
		{"an absolute entry", project("/etc/passwd", nil), yurt.CodePathOutsideWorkspace},
		{"a file that leads out", project("a.py", map[string]string{"a.py": "", "../../etc/x": ""}), yurt.CodePathOutsideWorkspace},
		{"a file through a link that leads out", project("a.py", map[string]string{"a.py": "", "link/x": ""}), yurt.CodePathOutsideWorkspace},
		{"a file in place of a directory", project("a.py", map[string]string{"a.py": "", "dir": ""}), yurt.CodeNotAFile},
		{"a file that is a directory too", project("a.py", map[string]string{"a.py": "", "b": "", "b/c": ""}), yurt.CodeInvalidArgument},
		{"a working directory outside", func(s *yurt.ExecutionSpec) {
			project("a.py", map[string]string{"a.py": ""})(s)
			s.Cwd = "/tmp"
		}, yurt.CodePathOutsideWorkspace},
		{"too much", project("a.py", map[string]string{"a.py": strings.Repeat("#", yurt.MaxFilesBytes+1)}), yurt.CodeLimitOutOfRange},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := e.StartExecution(t.Context(), s.ID, testutil.Python("", tt.change)); yurt.CodeOf(err) != tt.want {
				t.Errorf("got %v (%s), want %s", err, yurt.CodeOf(err), tt.want)
			}
		})
	}
	if r := testutil.Execute(t, e, s.ID, testutil.Python("print('fine')")); r.Stdout != "fine\n" {
		t.Errorf("the sandbox does not work any more: %+v", r)
	}
}
