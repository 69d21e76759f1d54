package notebook

import (
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// syntaxCells are cells with IPython's additions to Python, of which Yurt's own kernel makes the
// same. The names that a cell makes are there for those after it.
func syntaxCells() []string {
	return []string{
		"  import os; os.environ['START'] = os.getcwd()\n  print(1)",
		"    if True:\n        print('in')",
		">>> a = 1\n>>> for i in range(2):\n...     print(i)\n...",
		"In [5]: b = a + 1\n   ...: b",
		"!echo hello",
		"files = !printf 'b 2\\na 1\\n'\nprint(files, files.n, files.s, files.l, files.grep('a'), files.fields(0), files.fields(1, 0), files.sort(), files.grep('a', prune=True), type(files).__name__)",
		"files",
		"!!echo a; echo b",
		"word = 'w'; d = {'k': [1, 2]}\n!echo {word} $word {1 + 2}",
		"!echo '{print $1}' $d $word. a$word-b",
		"def shown(local):\n    !echo {local} $local\nshown(99)",
		"for i in range(2):\n    !echo {i}",
		"!exit 3\nprint(_exit_code)",
		"!for i in 1 2; do \\\n  echo $i; done",
		"%%bash\necho from bash\nfor i in 1 2; do echo $i; done",
		"%%bash --out got\necho caught", "got",
		"%%script bash --no-raise-error\nexit 4",
		"%%writefile made.txt\nline $word {word}", "%%writefile made.txt\nagain", "%%writefile -a made.txt\nmore", "!cat made.txt", "%cat made.txt",
		"%%capture kept\nprint('hidden'); display('shown')\n!echo shell\n42", "kept.stdout.split(), kept.stderr, len(kept.outputs)", "kept.show()",
		"%%capture --no-stdout kept\nprint('not hidden')",
		"%env VALUE=1", "%env VALUE", "%set_env VALUE 2 3", "!echo $VALUE", "if True:\n    %env VALUE",
		"import os\n%cd /tmp", "%pwd", "where = %pwd\nprint(where)", "%cd -q /\nprint(os.getcwd())", "%cd -", "cd /", "pwd",
		"%reset -f", "alpha, beta = 1, 'text'\ndef gamma(): pass", "%who", "%who int", "%who_ls", "%whos int str",
		"%load_ext autoreload\n%autoreload 2", "%load_ext not_there", "%config InlineBackend.figure_format = 'retina'",
		"not_there?", "7", "_, __, In[-1], type(Out).__name__, _i",
		"import asyncio\nasync def later(n):\n    await asyncio.sleep(0.01)\n    return n\ntask = asyncio.create_task(later(5))", "await task", "await asyncio.gather(later(1), later(2))",
		"import os\n%cd -q {os.environ['START']}",
		"%%writefile prog.py\nimport sys\nprint(__name__, sys.argv)\nvalue = 7", "%run prog.py a b\nprint(value)", "%run prog",
		"%%html\n<b>x</b>", "%%markdown\n# x", "%%latex\n$x$", "%%javascript\nalert(1)", "%%svg\n<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>",
		"get_ipython().run_line_magic('env', 'VALUE')", "get_ipython().run_cell_magic('html', '', '<i>')", "get_ipython().system('echo system')",
		"get_ipython().getoutput('echo out')", "get_ipython().ex('zed = 4'); get_ipython().ev('zed + 1'), get_ipython().user_ns['zed']",
		"from IPython.core.magic import register_line_magic, register_cell_magic\n@register_line_magic\ndef mine(line): return line[::-1]\n@register_cell_magic\ndef loud(line, cell): print(line, cell.upper())",
		"%mine abc", "%%loud a b\ncell $alpha", "x = !echo one two\ny = %mine xyz\nx, y",
		"from IPython.utils.capture import capture_output\nwith capture_output() as kept:\n    print('in')\nkept.stdout",
		"s = \"\"\"\n!not a command\n%not a magic\nname?\n\"\"\"\nprint(s, 10 % 3, 'what?')",
		"# comment?\n# %comment\ns = 'a' \\\n  'b'\ns", ",print a b", "/print 1",
		"def given(*all): return all\n,given a b", "x = 3\n/given 1 2", "x = [1\n, 2]\n;given a b",
		"%alias pair echo first %s second %s", "%pair a b c", "%alias whole echo [%l]; true", "%whole a b",
		"r = %timeit -o -q -n 2 -r 3 pass\nr.loops, r.repeat, len(r.all_runs)",
		"%precision 3", "1.23456789", "%precision", "%xmode Plain", "%sx echo a", "%%!\necho one\necho two", "%alias say echo said", "%say it",
		"%reset_selective -f zed", "%xdel alpha", "%history -n 1-2",
		"x = 20\nx", "%rerun", "text = 'three = 3\\nthree + x'\n%macro add text", "add", "print(add)\n_", "%macro -q again 2-3", "again", "%macro",
		"%save kept 3 19", "print(open('kept.py').read())", "%save -r -f kept 3 19\n%save -r -a kept 4", "print(open('kept.ipy').read())", "x += 1", "x", "%rerun -l 2",
		"is_nowhere_else = 1\nis_nowhere_else", "%rerun -g is_nowhere_else",
		"%config InteractiveShell.ast_node_interactivity = 'last_expr'",
		"print('before')\n%mine\n1/0",
	}
}

// TestSyntax compares the outcomes of the cells in Yurt's own kernel and in an ipykernel.
func TestSyntax(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	var all document
	for _, code := range syntaxCells() {
		all.Cells = append(all.Cells, cell{Source: []string{code}, Metadata: map[string]any{}})
	}
	theirs := throughIPykernel(t, all, "")
	for i := range theirs { // its commands write to a terminal
		theirs[i].Stdout = strings.ReplaceAll(theirs[i].Stdout, "\r\n", "\n")
	}
	compareCells(t, all, throughYurt(t, all, "", ""), theirs)
}

// own opens a session whose contexts are Yurt's own kernel.
func own(t *testing.T) session {
	t.Helper()
	testutil.NeedsSandboxes(t)
	config := offering(t, "")
	config.Transient = true
	without := template(t, "", "")
	without.Env = nil
	return open(t, testutil.Start(t, config), without)
}

// TestSyntaxOfOurOwn has the differences from IPython that are on purpose.
func TestSyntaxOfOurOwn(t *testing.T) {
	t.Parallel()
	s := own(t)
	for code, said := range map[string]string{
		"%tim 1":                      "the nearest is %time;",
		"%capture x":                  "the cell magic %%capture",
		"x = 1\n%%time\nx":            "stands in the first line of a cell",
		"%%nothing\n1":                "IPython in the template",
		"%store x":                    "%store is not supported",
		"%timeit -r 0 pass":           "from 1 to 10000",
		"%timeit -z pass":             "has no option -z",
		"%reset":                      "use %reset -f",
		"%env NOT_THERE":              "does not have key: NOT_THERE",
		"%%writefile":                 "the name of one file",
		"%%capture a b\n1":            "takes a name",
		"%macro name":                 "and then numbers of cells",
		"%macro name nowhere":         "a file, or the name of a text",
		"%macro name 999":             "'999' selects none",
		"%save":                       "the name of a file",
		"%save made 1\n%save made 1":  "%save -f overwrites it",
		"%rerun 999":                  "finds no earlier cell",
		"%recall 1":                   "%rerun runs earlier cells",
		"%precision many":             "a number of digits or a format",
		"get_ipython().magic('nope')": "no line magic %nope",
	} {
		if r := s.fails(t, "UsageError", code); !strings.Contains(r.Error.Message, said) || r.StateLost {
			t.Errorf("%s\nis refused with %q, want %q, and the state kept", code, r.Error.Message, said)
		}
	}
	s.fails(t, "FileNotFoundError", "%cd /not/there")
	s.fails(t, "FileNotFoundError", "%run not_there.py")
	s.fails(t, "CalledProcessError", "%%bash\nexit 3")
	s.fails(t, "SyntaxError", "len([1,\n!ls\n])")
	if r := s.run(t, "!echo out; echo err >&2; exit 3"); r.Stdout != "out\n" || r.Stderr != "err\n" || r.Error != nil {
		t.Errorf("a command: stdout %q, stderr %q, error %+v", r.Stdout, r.Stderr, r.Error)
	}
	s.prints(t, "one\ntwo\nthree\n", "print(input())\n!head -n 1\nprint(input())", func(s *yurt.ExecutionSpec) { s.Stdin = []byte("one\ntwo\nthree\n") })
	if r := s.run(t, "def documented(a: int):\n    'Says it.'\ndocumented?"); len(r.Displays) != 1 || !strings.Contains(string(r.Displays[0]["text/plain"]), "documented(a: int)") {
		t.Errorf("help shows %s, error %+v", r.Displays, r.Error)
	}
	s.fails(t, "ZeroDivisionError", "def halve(n):\n    return n / 0\nhalve(8)")
	if r := s.run(t, "%tb"); r.Error != nil || !strings.Contains(r.Stderr, "return n / 0") {
		t.Errorf("%%tb: stderr %q, error %+v; want the traceback of the error before", r.Stderr, r.Error)
	}
	if r := s.run(t, "%debug", func(s *yurt.ExecutionSpec) { s.Stdin = []byte("p n + 1\nup\nw\n") }); r.Error != nil || !strings.Contains(r.Stdout, "(Pdb) 9\n") {
		t.Errorf("%%debug with commands as stdin: stdout %q, error %+v; want n + 1 of the failed call", r.Stdout, r.Error)
	}
	if r := s.fails(t, "UsageError", "%debug"); !strings.Contains(r.Error.Message, "as stdin of the request") {
		t.Errorf("%%debug without commands: %+v", r.Error)
	}
	if r := s.fails(t, "AttributeError", "get_ipython().prefilter_manager"); !strings.Contains(r.Error.Message, "IPython in the template") {
		t.Errorf("a part of the shell that is missing: %q, want the way to IPython's own", r.Error.Message)
	}
	s.run(t, "def later():\n    return [][0]\nTrue")
	if r := s.fails(t, "IndexError", "code = 'def inner():\\n    return later()\\ninner()'\nget_ipython().run_line_magic('time', code)"); !strings.Contains(strings.Join(r.Error.Stacktrace, "\n"), "return later()") {
		t.Errorf("an error in a part of a cell has the stack %q, want its line return later()", r.Error.Stacktrace)
	}
	if r := s.run(t, "get_ipython().run_cell('1/0').success"); string(r.Result) != "false" || !strings.Contains(r.Stderr, "    1/0\n") {
		t.Errorf("a failed cell in a cell: result %s, stderr %q; want false, and the line of the inner cell", r.Result, r.Stderr)
	}
	s.prints(t, "1\n2\n", "%%timeit -n1 -r1 -q k = 1\nprint(k); print(k + 1)")
	if r := s.run(t, "%time 40 + 2"); string(r.Result) != "42" || !strings.HasPrefix(r.Stdout, "CPU times: user ") || !strings.Contains(r.Stdout, "\nWall time: ") {
		t.Errorf("%%time: result %s, stdout %q", r.Result, r.Stdout)
	}
	s.prints(t, "python\n", "!python -c 'print(\"python\")'") // where there is python3 alone
	r := s.fails(t, "ZeroDivisionError", "x = 1\n\n!true\nfor i in range(1):\n    !true\n    1/0")
	if trace := strings.Join(r.Error.Stacktrace, "\n"); !strings.Contains(trace, "line 6") || !strings.Contains(trace, "    1/0") || strings.Contains(trace, "get_ipython") {
		t.Errorf("the traceback does not have the user's line 6:\n%s", trace)
	}
}

// TestTimeAwaits: %time awaits in a cell that awaits elsewhere, and its statement has the names of its function.
func TestTimeAwaits(t *testing.T) {
	t.Parallel()
	s := own(t)
	s.run(t, "import asyncio\nasync def f(n):\n    await asyncio.sleep(0.001)\n    return n")
	for code, want := range map[string]string{
		"x = await f(3)\n%time y = await f(4)\n[x, y]":                                     "[3,4]",
		"for i in range(2):\n    %time z = await f(i)\nz":                                  "1",
		"a = %time await f(8)\n[a, await f(9)]":                                            "[8,9]",
		"async def g(n):\n    m = %time await f(n)\n    return m\nawait g(5)":              "5",
		"def h(n):\n    m = %time await f(n)\n    return m\nh(6)":                          "6",
		"def k(n):\n    m = %time n * 2\n    %timeit -n1 -r1 -q n + 1\n    return m\nk(7)": "14",
		"u = 5\n%time d = {u}\n%timeit -n1 -r1 -q {u}.pop()\n%prun {u}.pop()\nlen(d) + u":  "6",
		"%%time\nw = await f(2)\nw + 1":                                                    "3",
	} {
		if r := s.run(t, code); string(r.Result) != want {
			t.Errorf("%s\nresult %s, error %+v; want %s", code, r.Result, r.Error, want)
		}
	}
}

// TestMagicsAreInterrupted: an interrupt ends the commands that code waits for, all processes of
// them, and keeps the state. TestEveryMagicIsInterrupted, with the build tag long, has more of them.
func TestMagicsAreInterrupted(t *testing.T) {
	t.Parallel()
	interruptMagics(t, "!sleep 1000", "!trap '' INT; sleep 1000; sleep 1000", "%%bash --out got\nsleep 1000 & sleep 1000 & wait", "%time time.sleep(1000)", "%time await asyncio.sleep(1000)")
}

// interruptMagics has each of the codes run out of time.
func interruptMagics(t *testing.T, codes ...string) {
	t.Helper()
	s := own(t)
	s.run(t, "import asyncio, time\nx = 1\nasync def block(): time.sleep(1000)")
	for _, code := range codes {
		r := s.run(t, code, within(700*time.Millisecond))
		ends := strings.HasPrefix(code, "%%writefile")
		if r.StateLost || !ends && (r.Error == nil || r.Error.Type != yurt.ErrorTypeTimeout) || strings.Contains(r.Stderr, "shell.py") {
			t.Errorf("%s\nstate lost %t, error %+v, stderr %q", code, r.StateLost, r.Error, r.Stderr)
		}
	}
	s.prints(t, "True\n", "print(callable(block))")
	s.prints(t, "0\n", "!pgrep -c sleep")
	s.run(t, "task = asyncio.create_task(block())") // keeps the next request from being read
	if r := s.run(t, "print('not reached')", within(700*time.Millisecond)); r.StateLost || r.Error == nil || r.Error.Type != yurt.ErrorTypeTimeout {
		t.Errorf("while a task blocks the loop: state lost %t, error %+v", r.StateLost, r.Error)
	}
	s.prints(t, "True\n", "print(task.done())")
}

// TestTasksGoOn: a task that code makes without an await goes on between executions.
func TestTasksGoOn(t *testing.T) {
	t.Parallel()
	s := own(t)
	s.run(t, "import asyncio, time\nn = 0\nasync def count():\n    global n\n    while True:\n        n += 1\n        await asyncio.sleep(0.001)\ntask = asyncio.create_task(count())")
	s.run(t, "deadline = time.monotonic() + 60")
	for range 1000 {
		if r := s.run(t, "n > 3 or time.monotonic() > deadline"); string(r.Result) == "true" {
			break
		}
	}
	s.prints(t, "True\n", "print(n > 3)")
	s.prints(t, "5\n", "async def five(): return 5\nprint(asyncio.run(five()))") // while the other waits
	s.prints(t, "True\n", "before = n\nawait asyncio.sleep(0.05)\nprint(n > before)")
	s.prints(t, "True\n", "print(task.cancel())")
	s.prints(t, "True\n", "print(task.cancelled())")
	s.prints(t, "5\n", "print(asyncio.get_event_loop().run_until_complete(five()))")
}

// TestHistoryIsBounded: In and Out keep the last cells and values, and no more.
func TestHistoryIsBounded(t *testing.T) {
	t.Parallel()
	s := own(t)
	for range 60 {
		s.run(t, "object()")
	}
	s.prints(t, "50 False True True\n", "print(len(Out), '_1' in globals(), _60 is Out[60], In[60] == 'object()' == _i60)")
}
