package notebook

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// inIPython opens a session whose template chooses IPython's shell.
func inIPython(t *testing.T) session {
	t.Helper()
	testutil.NeedsSandboxes(t)
	packages := sitePackages(t)
	config := offering(t, packages)
	config.Transient = true
	return open(t, testutil.Start(t, config), template(t, packages, "ipython"))
}

// TestIPython: code in a context is in a shell of IPython's, with all that this has, and no Jupyter.
func TestIPython(t *testing.T) {
	t.Parallel()
	s := inIPython(t)
	s.prints(t, "True False True\n", "import sys\nfrom IPython.core.interactiveshell import InteractiveShell\n"+
		"print(isinstance(get_ipython(), InteractiveShell), 'zmq' in sys.modules, get_ipython() is InteractiveShell.instance())")
	s.prints(t, "1\n", "import os, threading; print(len(os.listdir('/proc/self/task')))")
	s.prints(t, "from bash\n", "%%bash\necho from bash")
	s.prints(t, "out\n", "!echo out")
	s.prints(t, "1 2\n", "names = !printf '1\\n2'\nprint(*names)")
	s.prints(t, "", "%%capture caught\nprint('hidden')\n!echo by a command")
	if r := s.run(t, "print('captured', repr(caught.stdout))\n40 + 2"); r.Stdout != "captured 'hidden\\nby a command\\n'\n" || string(r.Result) != "42" || r.MainDisplay == nil {
		t.Errorf("stdout %q, result %s, displays %v", r.Stdout, r.Result, r.Displays)
	}
	s.prints(t, "42 42\n", "print(_, list(Out.values())[-1])")
	if r := s.run(t, "%cd -q /tmp\n%cd -q -\n%pwd"); string(r.Result) != `"/workspace"` {
		t.Errorf("%%cd - leads to %s, error %+v, want the directory before", r.Result, r.Error)
	}
	s.prints(t, "a 1\n", "print(input(), os.environ['V'])", func(s *yurt.ExecutionSpec) {
		s.Stdin, s.Env = []byte("a\n"), map[string]string{"V": "1"}
	})
	s.run(t, "import asyncio\nasync def later():\n    await asyncio.sleep(0)\n    done.set()\ndone = threading.Event(); task = asyncio.create_task(later())")
	s.prints(t, "True\n", "await asyncio.sleep(0.01); print(done.is_set())")
	r := s.fails(t, "ZeroDivisionError", "def f():\n    return 1 / 0\nf()")
	if trace := strings.Join(r.Error.Stacktrace, "\n"); !strings.Contains(trace, "line 2, in f()") || strings.Contains(trace, "/run/yurt") || strings.Contains(trace, "\x1b") {
		t.Errorf("the traceback is %q, want the user's lines alone and without colours", trace)
	}
	r = s.fails(t, "ExceptionGroup", "raise ExceptionGroup('several', [ValueError('one'), KeyError('two')])")
	if trace := strings.Join(r.Error.Stacktrace, "\n"); !strings.Contains(trace, "ValueError: one") || !strings.Contains(trace, "line 1, in <module>") || strings.Contains(trace, "interactiveshell.py") {
		t.Errorf("the traceback of a group of errors is %q, want the user's lines and each error", trace)
	}
	for code, want := range map[string]int{"sys.exit(3)": 3, "raise SystemExit(4)": 4} {
		if r := s.fails(t, "SystemExit", code); r.StateLost || r.ExitCode != want {
			t.Errorf("%s: exit code %d, state lost %t; want %d and the state kept", code, r.ExitCode, r.StateLost, want)
		}
	}
	for _, code := range []string{"sys.exit()", "exit", "quit()", "sys.exit(0)"} {
		if r := s.run(t, code); r.Error != nil || r.StateLost || r.ExitCode != 0 || r.Stderr != "" {
			t.Errorf("%s: %+v, state lost %t, stderr %q; want the end of the cell alone", code, r.Error, r.StateLost, r.Stderr)
		}
	}
	s.prints(t, "True\n", "print(done.is_set())")
	if r := s.fails(t, yurt.ErrorTypeKernelDied, "os.kill(os.getpid(), 11)"); !r.StateLost {
		t.Errorf("a crash: %+v", r)
	}
	if r := s.prints(t, "False\n", "print('done' in globals())"); !r.KernelRestarted {
		t.Error("it is not told of the fresh interpreter after a crash")
	}
}

// TestOwnKernelBesideIPython: where IPython is installed and Yurt's own kernel runs the code, classes that code
// takes from IPython work with that kernel's shell.
func TestOwnKernelBesideIPython(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	packages := sitePackages(t)
	config := offering(t, packages)
	config.Transient = true
	s := open(t, testutil.Start(t, config), template(t, packages, ""))
	s.run(t, "from IPython.core.magic import Magics, magics_class, line_magic, cell_magic, register_line_magic\n"+
		"@magics_class\nclass Mine(Magics):\n    def __init__(self, shell, mark):\n        super().__init__(shell)\n        self.mark = mark\n"+
		"    @line_magic\n    def said(self, line): return self.mark + line\n    @cell_magic\n    def loud(self, line, cell): return cell.upper()\n"+
		"get_ipython().register_magics(Mine(get_ipython(), '*'))\n@register_line_magic\ndef twice(line): return line * 2")
	for code, want := range map[string]string{"%said x": `"*x"`, "%%loud\nabc": `"ABC\n"`, "%twice ab": `"abab"`} {
		if r := s.run(t, code); string(r.Result) != want {
			t.Errorf("%s: result %s, error %+v, want %s", code, r.Result, r.Error, want)
		}
	}
	s.run(t, "from IPython.core.interactiveshell import InteractiveShell\nInteractiveShell.ast_node_interactivity = 'all'")
	if r := s.run(t, "1\n2"); len(r.Displays) != 2 {
		t.Errorf("with ast_node_interactivity = 'all' two values are shown as %d displays, error %+v", len(r.Displays), r.Error)
	}
}

// TestShortCellsInIPython compares cells of one line, which IPython's shell runs on a shorter way, with an
// ipykernel: where the user has changed a part of the shell, the change takes effect.
func TestShortCellsInIPython(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	packages := sitePackages(t)
	cells := []string{
		"1 + 1", "_, In[-1], Out[1]", "40;", "40 # ;", "None", "True", "1.5", "2j", "'text'", "(1)", "-1", "...", "1 +", "1 / 0", "missing",
		"In [3]: 40 + 2", "In[-1]", "pwd = 5", "pwd", "del pwd", "%alias greet echo greeted", "greet", "len(Out) > 3", "sum(n for n in range(4))",
		"%macro -q thrice 1", "thrice", "import asyncio", "await asyncio.sleep(0, 3)", "[n async for n in missing]",
		"%precision 2", "3.14159", "%precision",
		"get_ipython().display_formatter.formatters['text/html'].for_type(float, lambda value: '<b>%s</b>' % value); None", "1.25",
		"get_ipython().display_formatter.formatters['text/plain'].for_type(int, lambda value, printer, cycle: printer.text('an int')); None", "7",
		"seen = []; get_ipython().events.register('pre_run_cell', lambda info: seen.append(info.raw_cell))", "5 + 5", "seen",
		"get_ipython().input_transformers_post.append(lambda lines: [line.replace('forty', '40') for line in lines])", "forty + 2",
		"exit", // at the end: the ipykernel lives for 0.1 s after it
	}
	var all document
	for _, code := range cells {
		all.Cells = append(all.Cells, cell{Source: []string{code}, Metadata: map[string]any{}})
	}
	compareCells(t, all, throughYurt(t, all, packages, "ipython"), throughIPykernel(t, all, ""))
}

// TestIPythonIsForked: contexts are forks of an interpreter that has made the shell, and a run without
// a context does not see it.
func TestIPythonIsForked(t *testing.T) {
	t.Parallel()
	s := inIPython(t)
	const forked = "import sys; print('zygote-' in open('/proc/self/cmdline').read())"
	for _, name := range []string{yurt.DefaultContext, "another"} {
		s.prints(t, "True\n", forked, func(s *yurt.ExecutionSpec) { s.ContextName = name })
	}
	s.prints(t, "1\n", "x = 1; print(x)")
	s.prints(t, "False\n", "print('x' in globals())", func(s *yurt.ExecutionSpec) { s.ContextName = "another" })
	alone := func(s *yurt.ExecutionSpec) { s.ContextName = "" }
	s.prints(t, "None False False __main__\n", "import IPython, sys, builtins\n"+
		"print(IPython.get_ipython(), hasattr(builtins, 'get_ipython'), hasattr(sys, 'ps1'), __name__)", alone)
}

// TestIPythonHasFiguresAhead: a context has all modules that a first figure needs from the zygote, and no figure of it.
func TestIPythonHasFiguresAhead(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	packages := libraries(t) + ":" + sitePackages(t)
	config := offering(t, packages)
	config.Transient = true
	preloading := template(t, packages, "ipython")
	preloading.Preload = []string{"matplotlib.pyplot"}
	s := open(t, testutil.Start(t, config), preloading)
	s.prints(t, "True True []\n", "import sys\nbefore = set(sys.modules)\nimport matplotlib.pyplot as plt\n"+
		"print('matplotlib.backends.backend_agg' in before, 'matplotlib_inline.backend_inline' in before, plt.get_fignums())")
	if r := s.run(t, "plt.plot([1, 2, 3], [1, 4, 9]); plt.title('squares'); plt.show()"); r.Error != nil || len(r.Displays) != 1 || r.Displays[0]["image/png"] == nil {
		t.Fatalf("the first figure: %d displays, error %+v, stderr %q; want a picture", len(r.Displays), r.Error, r.Stderr)
	}
	s.prints(t, "[]\n", "print(sorted(set(sys.modules) - before))")
}

// TestIPythonIsInterrupted: an interrupted cell keeps the state, whether it computes, waits for the
// event loop or for a command.
func TestIPythonIsInterrupted(t *testing.T) {
	t.Parallel()
	s := inIPython(t)
	s.run(t, "import asyncio, os, time\nx = 1")
	for _, code := range []string{"while True: pass", "time.sleep(1000)", "!sleep 1000", "await asyncio.sleep(1000)"} {
		if r := s.fails(t, yurt.ErrorTypeTimeout, "print('begun'); x += 1\n"+code, within(500*time.Millisecond)); r.StateLost || !strings.HasPrefix(r.Stdout, "begun\n") || strings.Contains(r.Stderr, "kernel.py") {
			t.Errorf("%s: state lost %t, stdout %q, stderr %q", code, r.StateLost, r.Stdout, r.Stderr)
		}
	}
	if r := s.fails(t, yurt.ErrorTypeTimeout, "await asyncio.sleep(1000)", within(500*time.Millisecond)); !strings.Contains(r.Stderr, "KeyboardInterrupt") || strings.Contains(r.Stderr, "CancelledError") {
		t.Errorf("of code that awaits it says %q", r.Stderr)
	}
	s.prints(t, "5\n", "print(x)")
	id := s.start(t, "open('begun', 'w').close()\nwhile True: pass")
	s.prints(t, "", "import os, time\nwhile not os.path.exists('begun'): time.sleep(0.01)", func(s *yurt.ExecutionSpec) { s.ContextName = "" })
	if err := s.executor.SignalExecution(t.Context(), s.sandbox, id, yurt.Signal(syscall.SIGINT)); err != nil {
		t.Fatal(err)
	}
	if r := s.wait(t, id); r.Error == nil || r.Error.Type != yurt.ErrorTypeInterrupted || r.ExitCode != 130 {
		t.Errorf("it ended with %+v, exit code %d", r.Error, r.ExitCode)
	}
	s.prints(t, "5\n", "print(x)")
}

// TestIPythonOutlivesExecutor: the next executor goes on with the kernel, with the running cell and
// those that wait.
func TestIPythonOutlivesExecutor(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	packages := sitePackages(t)
	config := offering(t, packages)
	s := open(t, testutil.Open(t, config), template(t, packages, "ipython"))
	s.run(t, "import time, os\nx = 1")
	running := s.start(t, "print('one')\nwhile not os.path.exists('go'): time.sleep(0.01)\nx += 1\nprint('two')")
	waiting := s.start(t, "%time pass\nprint('three', x)")
	if err := s.executor.Close(); err != nil {
		t.Fatal(err)
	}
	s.executor = testutil.Start(t, config)
	s.prints(t, "", "open('go', 'w').close()", func(s *yurt.ExecutionSpec) { s.ContextName = "" })
	if r := s.wait(t, running); r.Error != nil || r.Stdout != "one\ntwo\n" {
		t.Errorf("what ran: %+v", r)
	}
	if r := s.wait(t, waiting); r.Error != nil || !strings.HasSuffix(r.Stdout, "three 2\n") || r.KernelRestarted {
		t.Errorf("what waited: %+v", r)
	}
}

// TestIPythonIsMissing: for a template without IPython, the error names the package to install.
func TestIPythonIsMissing(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := offering(t, "")
	config.Transient = true
	without := template(t, "", "ipython")
	without.Env = nil
	s := open(t, testutil.Start(t, config), without)
	r := s.fails(t, "ModuleNotFoundError", "1 + 1")
	for _, hint := range []string{"No module named 'IPython'", "dependencies", "python3-ipython"} {
		if !strings.Contains(r.Error.Message, hint) {
			t.Errorf("the error is %q, which does not name %q", r.Error.Message, hint)
		}
	}
}

// TestIPythonExpressions: a cell that is one expression takes a shorter way through IPython, by which all of
// the history, the events, the user's transformers and formatters, and the tracebacks stay.
func TestIPythonExpressions(t *testing.T) {
	t.Parallel()
	s := inIPython(t)
	s.run(t, "import sys\nclass Probe:\n    def __neg__(self): return sys._getframe(1).f_code.co_filename\nprobe = Probe(); shell = get_ipython()")
	if r := s.run(t, "-probe"); strings.Count(string(r.Result), "-") != 2 {
		t.Errorf("the cell's code is of %s, want a name without the digest that IPython's longer way gives it", r.Result)
	}
	r := s.run(t, "20 + 1")
	number := r.ExecutionCount
	s.run(t, "'second'")
	s.run(t, "[3, 4]")
	want := fmt.Sprintf("[3, 4] second 21 | [3, 4] 'second' 20 + 1 | 21 21 20 + 1 | %d %d\n", number+3, number+4)
	s.prints(t, want, fmt.Sprintf("print(_, __, ___, '|', _i, _ii, _iii, '|', _%d, Out[%d], In[%d], '|', len(In) - 1, shell.execution_count)", number, number, number))
	s.prints(t, "20 + 1\n", fmt.Sprintf("%%history %d", number))
	for _, code := range []string{"[1 / 0]", "(missing_name)"} {
		r := s.run(t, code)
		if r.Error == nil || !strings.Contains(r.Stderr, "Cell In[") || !strings.Contains(r.Stderr, "----> 1 "+code) || strings.Contains(r.Stderr, "ipython.py") {
			t.Errorf("%s: %+v, stderr %q; want IPython's traceback of the cell", code, r.Error, r.Stderr)
		}
	}
	s.run(t, "seen = [shell.last_execution_succeeded, type(shell.last_execution_result.error_in_exec).__name__]")
	s.prints(t, "[False, 'NameError']\n", "print(seen)")
	s.run(t, "seen = []\nshell.events.register('pre_run_cell', lambda info: seen.append(info.raw_cell))\n"+
		"shell.events.register('post_run_cell', lambda result: seen.append((result.result, _)))")
	s.run(t, "2 * 3")
	s.prints(t, "[(None, [3, 4]), '2 * 3', (6, 6)]\n", "print(seen[:3])")
	s.run(t, "shell.events.callbacks['pre_run_cell'].clear(); shell.events.callbacks['post_run_cell'].clear()")

	s.run(t, "shell.display_formatter.formatters['text/html'].for_type(int, lambda n: '<b>%d</b>' % n)")
	if r := s.run(t, "5 + 5"); len(r.Displays) != 1 || string(r.Displays[0]["text/html"]) != `"\u003cb\u003e10\u003c/b\u003e"` && string(r.Displays[0]["text/html"]) != `"<b>10</b>"` {
		t.Errorf("the displays are %v, want HTML by the user's formatter", r.Displays)
	}
	s.run(t, "shell.display_formatter.formatters['text/plain'].for_type(int, lambda n, p, cycle: p.text('number'))\nshell.display_formatter.formatters['text/html'].pop(int)")
	if r := s.run(t, "5 + 5"); len(r.Displays) != 1 || string(r.Displays[0]["text/plain"]) != `"number"` {
		t.Errorf("the displays are %v, want the text of the user's formatter", r.Displays)
	}
	s.run(t, "shell.input_transformers_post.append(lambda lines: [line.replace('5', '7') for line in lines])")
	if r := s.run(t, "5 + 5"); string(r.Result) != "14" {
		t.Errorf("5 + 5 is %s by the user's transformer, want 14", r.Result)
	}
	s.run(t, "shell.input_transformers_post.clear()")
	s.run(t, "import ast\nclass Add(ast.NodeTransformer):\n"+
		"    def visit_Constant(self, node): return ast.Constant(node.value + 1) if node.value == 5 else node\nshell.ast_transformers.append(Add())")
	if r := s.run(t, "5 + 5"); string(r.Result) != "12" {
		t.Errorf("5 + 5 is %s by the user's transformer of trees, want 12", r.Result)
	}
}

// TestIPythonTimeAwaits: %time awaits in a cell that awaits elsewhere, and its statement has the names of its function.
func TestIPythonTimeAwaits(t *testing.T) {
	t.Parallel()
	s := inIPython(t)
	s.run(t, "import asyncio\nasync def f(n):\n    await asyncio.sleep(0.001)\n    return n")
	for code, want := range map[string]string{
		"%time await f(1)": "1",
		"x = await f(3)\n%time y = await f(4)\n[x, y]":                        "[3,4]",
		"for i in range(2):\n    %time z = await f(i)\nz":                     "1",
		"a = %time await f(8)\n[a, await f(9)]":                               "[8,9]",
		"async def g(n):\n    m = %time await f(n)\n    return m\nawait g(5)": "5",
		"%%time\nw = await f(2)\nw + 1":                                       "3",
		"%time v = 'await'\nv":                                                `"await"`,
	} {
		if r := s.run(t, code); string(r.Result) != want || strings.Count(r.Stdout, "Wall time: ") == 0 {
			t.Errorf("%s\nresult %s, error %+v, output %q; want %s and the times", code, r.Result, r.Error, r.Stdout, want)
		}
	}
}
