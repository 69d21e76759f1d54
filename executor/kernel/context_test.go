package kernel_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/testutil"
)

// notebook runs cells, one after the other, in one context.
type notebook struct {
	t       *testing.T
	e       *executor.Executor
	sandbox string
}

func newNotebook(t *testing.T, change ...func(*yurt.SandboxSpec)) *notebook {
	t.Helper()
	e := testutil.Executor(t)
	return &notebook{t, e, testutil.Create(t, e, change...).ID}
}

func (n *notebook) run(code string, change ...func(*yurt.ExecutionSpec)) *yurt.Result {
	n.t.Helper()
	return testutil.Execute(n.t, n.e, n.sandbox, testutil.Cell(code, change...))
}

// want runs a cell that has to print exactly this.
func (n *notebook) want(stdout, code string, change ...func(*yurt.ExecutionSpec)) *yurt.Result {
	n.t.Helper()
	r := n.run(code, change...)
	if r.Error != nil || r.ExitCode != 0 || r.Stdout != stdout {
		n.t.Fatalf("%.1000s\nprinted %.1000q, want %q (exit code %d, error %+v, stderr %q)", code, r.Stdout, stdout, r.ExitCode, r.Error, r.Stderr)
	}
	return r
}

func TestStateLasts(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	n.run("import math, os\nx = 20\ndef double(n): return 2 * n\nos.makedirs('sub'); os.chdir('sub')")
	n.want("42 3 sub\n", "print(double(x) + 2, int(math.pi), os.path.basename(os.getcwd()))")
	if r := n.want("", "x + 1"); string(r.Result) != "21" || r.MainDisplay == nil || string(r.Displays[*r.MainDisplay]["text/plain"]) != `"21"` {
		t.Errorf("the value of the last expression is %s, %v", r.Result, r.Displays)
	}
	n.want("21\n", "print(_)")
	n.want("", "x + 1;")
	n.want("False\n", "print('x' in globals())", testutil.InContext("other"))
	n.want("20\n", "print(x)")
	if r := testutil.Execute(t, n.e, n.sandbox, testutil.Python("print('x' in globals())")); r.Stdout != "False\n" {
		t.Errorf("without a context: %q, want a fresh interpreter", r.Stdout)
	}
}

// TestOneLine: a line that may be one expression, which is compiled in a shorter way, means the same as in a longer cell.
func TestOneLine(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	n.run("import asyncio\nx, said = 7, []\nasync def later(v): return v")
	for _, line := range []string{
		"x + 1", "x # + 1", "x ; ", "x;x", "'a' 'b'", "*[x], 2", "await later(x)", "[await later(i) for i in (1, 2)]", "said.append(x)", "(y := 3)", "y := 3", "yield x",
		"None", "x is 7", "x if x else 1", "lambda: x", "if x: x", "not x", "print(x)", "pass", "async def f(): pass", "assert x, x", "1 +", "%pwd", "x?", "!ls", "ls", "1/0", "nobody", "'\\d'", "é", "1_000", ".5", "x\f", "(x", "global x",
	} {
		short := n.run(line)
		long := n.run("\n" + line)
		if string(short.Result) != string(long.Result) || len(short.Displays) != len(long.Displays) || short.Stdout != long.Stdout || short.ExitCode != long.ExitCode ||
			strings.Count(short.Stderr, "Warning") != strings.Count(long.Stderr, "Warning") || (short.Error == nil) != (long.Error == nil) {
			t.Errorf("%s\nalone:      %s, %d displays, %+v, %q\nnot alone: %s, %d displays, %+v, %q", line, short.Result, len(short.Displays), short.Error, short.Stderr, long.Result, len(long.Displays), long.Error, long.Stderr)
		}
		if short.Error == nil || long.Error == nil {
			continue
		}
		if reason, _, _ := strings.Cut(short.Error.Message, " (<cell"); short.Error.Type != long.Error.Type || !strings.HasPrefix(long.Error.Message, reason) {
			t.Errorf("%s\nalone:      %+v\nnot alone: %+v", line, short.Error, long.Error)
		}
	}
	if r := n.run("  x\n y"); r.Error == nil || r.Error.Type != "IndentationError" {
		t.Errorf("lines with different indents: %+v", r.Error)
	}
}

// TestEachHasItsOwnStdin: the rest of an execution's standard input, and changes of the stream, do not reach the next
// execution.
func TestEachHasItsOwnStdin(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	given := func(s *yurt.ExecutionSpec) { s.Stdin = []byte("one\ntwo\n") }
	n.want("one\n", "print(input())", given)
	n.want("''\n", "import sys; print(repr(sys.stdin.read()))")
	n.want("", "sys.stdin.close()")
	n.want("''\n", "print(repr(sys.stdin.read()))")
	n.want("one\n", "print(input())", given)
}

// TestKernelsImportLate: a kernel without a request so far has not loaded modules that only answers need; it loads
// them before an error can occur.
func TestKernelsImportLate(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	const loaded = "import sys; print([name in sys.modules for name in ('json', 'linecache', 'traceback')])"
	n.want("[False, False, False]\n", loaded)
	n.want("[False, True, True]\n", loaded)
	n.want("True\n", "import json, traceback; print(json.loads('1') == 1 and hasattr(traceback, 'format_exc'))")
}

// TestFirstCellFails: an error is explained with the user's lines, also by a kernel that first has to import the
// modules for the explanation, and even if the user has files of their names.
func TestFirstCellFails(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	r := n.run(`
for name in ("token", "traceback", "linecache", "re"):
    with open(name + ".py", "w") as file: file.write("mine = 1")
import linecache, token
def fail(): raise ValueError(token.mine + linecache.mine)
fail()`)
	testutil.WantErrorType(t, r, "ValueError")
	trace := strings.Join(r.Error.Stacktrace, "\n")
	if r.Error.Message != "2" || !strings.Contains(trace, "    fail()") || !strings.Contains(r.Stderr, "def fail(): raise ValueError") {
		t.Errorf("message %q, stack trace:\n%s\nstderr:\n%s", r.Error.Message, trace, r.Stderr)
	}
	n.want("1\n", "print(token.mine)")
	if r := n.run("fail(  )"); !strings.Contains(r.Stderr, "    fail(  )") {
		t.Errorf("the second time stderr is:\n%s", r.Stderr)
	}
	other := newNotebook(t)
	other.want("def f(): pass\n\n", "def f(): pass\nimport inspect; print(inspect.getsource(f))")
}

func TestCellErrors(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	n.run("def fail(): return 1 / 0")
	r := n.run("x = 1\nfail()")
	testutil.WantErrorType(t, r, "ZeroDivisionError")
	if trace := strings.Join(r.Error.Stacktrace, "\n"); r.ExitCode != 1 || strings.Contains(trace+r.Stderr, "kernel.py") ||
		!strings.Contains(trace, `File "<cell 2>", line 2`) || !strings.Contains(trace, `File "<cell 1>", line 1`) {
		t.Errorf("exit code %d, stack trace:\n%s\nstderr:\n%s", r.ExitCode, trace, r.Stderr)
	}
	r = n.run("async def two(): raise KeyError('two')\nimport asyncio\nasync with asyncio.TaskGroup() as group: group.create_task(two())")
	testutil.WantErrorType(t, r, "ExceptionGroup")
	if trace := strings.Join(r.Error.Stacktrace, "\n"); !strings.Contains(trace, `File "<cell 3>", line 3`) || !strings.Contains(trace, `File "<cell 3>", line 1, in two`) ||
		!strings.Contains(trace, "KeyError: 'two'") {
		t.Errorf("the stack trace of a group of errors:\n%s\nwant the user's lines and each error", trace)
	}
	n.want("1\n", "print(x)")
	for _, code := range []string{"x == %5", "x = = 1", "a\x01b"} {
		testutil.WantErrorType(t, n.run(code), yurt.ErrorTypeSyntax)
	}
	if r := n.run("x = 1\nreturn 5"); r.Error == nil || !strings.Contains(strings.Join(r.Error.Stacktrace, "\n"), "    return 5") {
		t.Errorf("a return outside of a function: error %+v, want the line in the stack trace", r.Error)
	}
	testutil.WantErrorType(t, n.run("input()"), "EOFError")
	if r := n.run("import getpass; print(getpass.getpass())", func(s *yurt.ExecutionSpec) { s.Stdin = []byte("secret\n") }); r.Stdout != "Password: secret\n" || r.Stderr != "" {
		t.Errorf("getpass: stdout %q, stderr %q, want a prompt and the line of stdin", r.Stdout, r.Stderr)
	}
	n.want("a b\n", "print(input(), input())", func(s *yurt.ExecutionSpec) { s.Stdin = []byte("a\nb\n") })
	n.want("1 None\n", "import os; print(os.environ['V'], os.environ.get('W'))", func(s *yurt.ExecutionSpec) { s.Env = map[string]string{"V": "1"} })
	n.want("None\n", "print(os.environ.get('V'))")
}

// TestLargeCellsLeaveNothing has more code run, cell by cell, than there is room for at once.
func TestLargeCellsLeaveNothing(t *testing.T) {
	t.Parallel()
	n := newNotebook(t)
	n.run("x = 0")
	large := "#" + strings.Repeat("x", yurt.MaxCodeBytes-100) + "\nx += 1\nprint(x)"
	for i := range 20 {
		n.want(strconv.Itoa(i+1)+"\n", large)
	}
}
