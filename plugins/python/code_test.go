package python_test

import (
	"slices"
	"strings"
	"testing"
)

func TestCode(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		source    string
		files     map[string]string
		env       []string
		code      int
		stdout    string
		stderr    []string // parts that it has
		noStderr  bool     // it is empty
		errorType string
		message   string // how the error's message begins
		stack     []string
	}{
		"prints": {
			source: "print('hello')", stdout: "hello\n", noStderr: true,
		},
		"empty": {source: "", noStderr: true},
		"is a script": {
			source: "import sys\nprint(__name__, __file__.endswith('/main.py'), sys.argv, sys.modules['__main__'].__name__)",
			stdout: "__main__ True ['main.py'] __main__\n",
		},
		"unicode": {
			source: "print('grüße 🏕')", stdout: "grüße 🏕\n", env: []string{"LC_ALL=C"},
		},
		"byte order mark": {source: "\ufeffprint(1)", stdout: "1\n"},
		"windows lines":   {source: "if True:\r\n    print(1)\r\n", stdout: "1\n"},
		"imports from the workspace": {
			source: "import helper\nprint(helper.value)",
			files:  map[string]string{"helper.py": "value = 42"},
			stdout: "42\n",
		},
		"finds files beside itself": {
			source: "import os\nprint(open(os.path.join(os.path.dirname(__file__), 'data.txt')).read())",
			files:  map[string]string{"data.txt": "data"},
			stdout: "data\n",
		},
		"classes of the script can be pickled": {
			source: "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))).__name__)",
			stdout: "A\n",
		},
		"partial line is flushed": {source: "print('no newline', end='')", stdout: "no newline"},
		"exit code":               {source: "import sys; print('a'); sys.exit(7)", code: 7, stdout: "a\n", noStderr: true},
		"exit without a code":     {source: "raise SystemExit", noStderr: true},
		"exit code is a byte":     {source: "raise SystemExit(-1)", code: 255, noStderr: true},
		"exit with a message":     {source: "import sys; sys.exit('bad input')", code: 1, stderr: []string{"bad input\n"}},
		"waits for threads and exit functions": {
			source: "import atexit, threading, time\natexit.register(print, 'third')\n" +
				"threading.Thread(target=lambda: (time.sleep(.1), print('second'))).start()\nprint('first')",
			stdout: "first\nsecond\nthird\n",
		},
		"unclosed files are written": {
			source: "f = open('out.txt', 'w')\nf.write('kept')\nimport atexit\natexit.register(lambda: (f.flush(), print(open('out.txt').read())))",
			stdout: "kept\n",
		},
		"exception": {
			source: "def f():\n    return 1 / 0\n\nf()\n", code: 1,
			stderr: []string{
				"Traceback (most recent call last):\n  File \"main.py\", line 4, in <module>\n    f()\n",
				"  File \"main.py\", line 2, in f\n    return 1 / 0\n", "ZeroDivisionError: division by zero\n",
			},
			errorType: "ZeroDivisionError", message: "division by zero",
			stack: []string{"  File \"main.py\", line 4, in <module>\n    f()", "  File \"main.py\", line 2, in f\n    return 1 / 0"},
		},
		"another main.py is not shown": {
			source: "raise KeyError('x')", files: map[string]string{"main.py": "wrong = 'line'"}, code: 1,
			stderr: []string{"raise KeyError('x')"}, errorType: "KeyError", message: "'x'",
			stack: []string{"  File \"main.py\", line 1, in <module>\n    raise KeyError('x')"},
		},
		"traceback module shows the source": {
			source: "import traceback\ntry:\n    1 / 0\nexcept Exception:\n    traceback.print_exc()",
			stderr: []string{"File \"main.py\", line 3, in <module>\n    1 / 0\n"},
		},
		"inspect finds the source": {
			source: "import inspect\ndef f():\n    return 5\nprint(inspect.getsource(f))", stdout: "def f():\n    return 5\n\n",
		},
		"exception in a module of the workspace": {
			source: "import lib\nlib.go()", files: map[string]string{"lib.py": "def go():\n    raise ValueError('deep')"}, code: 1,
			errorType: "ValueError", message: "deep", stderr: []string{"lib.py\", line 2, in go"},
		},
		"library frames are not the user's": {
			source: "import json\njson.loads('{')", code: 1, stderr: []string{"json/decoder.py"},
			errorType: "JSONDecodeError", message: "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
			stack: []string{"  File \"main.py\", line 2, in <module>\n    json.loads('{')"},
		},
		"modules of the workspace do not shadow ours": {
			source: "1 / 0", code: 1, errorType: "ZeroDivisionError", message: "division by zero",
			files: map[string]string{"traceback.py": "boom", "json.py": "boom", "linecache.py": "boom", "tokenize.py": "boom"},
		},
		"cause": {
			source: "try:\n    int('x')\nexcept ValueError as e:\n    raise RuntimeError('outer') from e", code: 1,
			stderr:    []string{"ValueError: invalid literal", "direct cause", "RuntimeError: outer"},
			errorType: "RuntimeError", message: "outer",
		},
		"str of the exception fails": {
			source: "class E(Exception):\n    def __str__(self): raise KeyError('no')\nraise E()", code: 1,
			errorType: "E", message: "<exception str() failed>",
		},
		"recursion": {
			source: "def f(): f()\nf()", code: 1, errorType: "RecursionError", message: "maximum recursion depth exceeded",
			stderr: []string{"[Previous line repeated"},
		},
		"low recursion limit": {
			source: "import sys\nsys.setrecursionlimit(30)\ndef f(): f()\nf()", code: 1,
			errorType: "RecursionError", message: "maximum recursion depth exceeded",
		},
		"out of memory": {source: "raise MemoryError", code: 1, errorType: "MemoryError"},
		"interrupt": {
			source: "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9)", code: 130,
			stderr: []string{"KeyboardInterrupt"}, errorType: "KeyboardInterrupt",
		},
		"own way to show errors": {
			source: "import sys\nsys.excepthook = lambda t, e, tb: print('HOOK', e, tb.tb_lineno)\nraise ValueError('v')", code: 1,
			stdout: "HOOK v 3\n", noStderr: true, errorType: "ValueError", message: "v",
		},
		"own way to show errors fails": {
			source: "import sys\nsys.excepthook = lambda *a: 1 / 0\nraise ValueError('v')", code: 1,
			stderr: []string{"ValueError: v"}, errorType: "ValueError", message: "v",
		},
		"syntax error": {
			source: "x = 1\ny = = 2\n", code: 1, stderr: []string{"  File \"main.py\", line 2\n    y = = 2\n", "SyntaxError: invalid syntax\n"},
			errorType: "SyntaxError", message: "invalid syntax (main.py, line 2, column 5)",
			stack: []string{"  File \"main.py\", line 2\n    y = = 2\n        ^"},
		},
		"syntax error found late": {
			source: "x = 1\nreturn x\n", code: 1, stderr: []string{"    return x\n"},
			errorType: "SyntaxError", message: "'return' outside function (main.py, line 2, column 1)",
		},
		"indentation": {
			source: "def f():\nreturn 1\n", code: 1, errorType: "IndentationError",
			message: "expected an indented block",
		},
		"tabs": {
			source: "if True:\n        a = 1\n\tb = 2\n", code: 1, errorType: "TabError",
			message: "inconsistent use of tabs and spaces in indentation (main.py, line 3, column ",
		},
		"NUL": {source: "x = '\x00'", code: 1, errorType: "SyntaxError", message: "source code "},
		"not UTF-8": {
			source: "x = '\xff'", code: 1, errorType: "SyntaxError",
			message: "(unicode error) 'utf-8' codec can't decode byte 0xff in position ",
		},
		"streams are closed":           {source: "import sys, os\nprint('a')\nsys.stdout.close()\nsys.stderr = None", stdout: "a\n"},
		"error without standard error": {source: "import sys\nsys.stderr = None\n1 / 0", code: 1, errorType: "ZeroDivisionError", message: "division by zero", noStderr: true},
		"exit without standard error":  {source: "import sys\nsys.stderr = None\nsys.exit('x')", code: 1, noStderr: true},
		"exception in eval": {
			source: "eval('1 / 0')", code: 1, errorType: "ZeroDivisionError", message: "division by zero",
			stack: []string{"  File \"main.py\", line 1, in <module>\n    eval('1 / 0')", "  File \"<string>\", line 1, in <module>"},
		},
		"changes directory":   {source: "import os\nos.chdir('/')\n1 / 0", code: 1, errorType: "ZeroDivisionError", message: "division by zero"},
		"child has no result": {source: "import os\nif os.fork() == 0:\n    pass\nelse:\n    os.wait()\n    print('parent')", stdout: "parent\n"},
		"descriptor is not passed on": {
			source: "import subprocess\nprint(subprocess.run(['sh', '-c', 'echo >&3'], close_fds=False, stderr=subprocess.DEVNULL).returncode)",
			stdout: "2\n",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t, tt.files)
			s.env = tt.env
			got := s.run(t, code(tt.source))
			if got.code != tt.code {
				t.Errorf("exit code %d, want %d", got.code, tt.code)
			}
			if got.stdout != tt.stdout {
				t.Errorf("stdout %q, want %q", got.stdout, tt.stdout)
			}
			for _, part := range tt.stderr {
				if !strings.Contains(got.stderr, part) {
					t.Errorf("stderr has no %q:\n%s", part, got.stderr)
				}
			}
			if tt.noStderr && got.stderr != "" {
				t.Errorf("stderr %q, want none", got.stderr)
			}
			if strings.Contains(got.stderr, "harness.py") || strings.Contains(got.stderr, "report.py") {
				t.Errorf("stderr shows the harness:\n%s", got.stderr)
			}
			checkError(t, got, tt.errorType, tt.message, tt.stack)
			if tt.errorType == "" && string(got.envelope) != `{"result":null}` {
				t.Errorf("envelope %q", got.envelope)
			}
		})
	}
}

// checkError compares the error of a run; an empty type means no error. stack may be nil. Marks
// under the source line, which some versions of Python draw, are ignored.
func checkError(t *testing.T, got outcome, errorType, message string, stack []string) {
	t.Helper()
	if errorType == "" {
		if got.err != nil {
			t.Errorf("error %+v, want none; stderr:\n%s", got.err, got.stderr)
		}
		return
	}
	if got.err == nil {
		t.Fatalf("no error, want %s; stderr:\n%s", errorType, got.stderr)
	}
	if got.err.Type != errorType || !strings.HasPrefix(got.err.Message, message) {
		t.Errorf("error %s: %q, want %s: %q", got.err.Type, got.err.Message, errorType, message)
	}
	if stack == nil {
		return
	}
	var lines []string
	for _, line := range got.err.Stacktrace {
		if head, marks, ok := cutLast(line, "\n"); ok && strings.Trim(marks, " ~^") == "" && errorType != "SyntaxError" {
			line = head
		}
		lines = append(lines, line)
	}
	if !slices.Equal(lines, stack) {
		t.Errorf("stack trace %q, want %q", lines, stack)
	}
}

func cutLast(text, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}

// TestCodeClosesDescriptor runs code that closes the result's descriptor: the file
// that takes its number must not get the envelope.
func TestCodeClosesDescriptor(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, nil)
	got := s.run(t, code("import os\nos.close(3)\nf = open('mine.txt', 'w')\nprint(f.fileno())\nf.write('mine')"))
	if got.code != 0 || len(got.envelope) != 0 || got.stdout != "3\n" {
		t.Fatalf("got %+v", got)
	}
	got = s.run(t, code("print(open('mine.txt').read())"))
	if got.stdout != "mine\n" {
		t.Errorf("the user's file has %q", got.stdout)
	}
}

// TestCodeCauseInStack checks that an error's cause comes before it.
func TestCodeCauseInStack(t *testing.T) {
	t.Parallel()
	got := newSandbox(t, nil).run(t, code("try:\n    int('x')\nexcept ValueError as e:\n    raise RuntimeError('outer') from e"))
	stack := strings.Join(got.err.Stacktrace, "\n")
	inner, outer := strings.Index(stack, "line 2"), strings.Index(stack, "line 4")
	if inner < 0 || outer < inner || !strings.Contains(stack, "ValueError: invalid literal") {
		t.Errorf("stack trace:\n%s", stack)
	}
}

// TestCodeExceptionGroup uses exception groups, which Python has since 3.11.
func TestCodeExceptionGroup(t *testing.T) {
	t.Parallel()
	const source = `
import sys
if sys.version_info < (3, 11):
    sys.exit("too old")
raise ExceptionGroup("both", [ValueError("one"), KeyError("two")])
`
	got := newSandbox(t, nil).run(t, code(source))
	if strings.Contains(got.stderr, "too old") {
		return // an old version was asked for with YURT_TEST_PYTHON
	}
	checkError(t, got, "ExceptionGroup", "both (2 sub-exceptions)", []string{
		"  File \"main.py\", line 5, in <module>\n    raise ExceptionGroup(\"both\", [ValueError(\"one\"), KeyError(\"two\")])",
		"  in the group: ValueError: one",
		"  in the group: KeyError: 'two'",
	})
	for _, part := range []string{"ValueError: one", "KeyError: 'two'"} {
		if !strings.Contains(got.stderr, part) {
			t.Errorf("stderr has no %q:\n%s", part, got.stderr)
		}
	}
}
