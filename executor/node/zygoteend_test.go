package node_test

import (
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/testutil"
)

// finalizable is a class whose objects say when they end.
const finalizable = `
import os, sys
class A:
    def __init__(self, name): self.name = name
    def __del__(self): print("end of", self.name, sys.is_finalizing())
`

// endings are programs that tell how an interpreter ends them.
func endings() map[string]string {
	return map[string]string{
		"a global":              finalizable + "a, b = A('a'), A('b')",
		"a cycle":               finalizable + "a = A('a'); a.itself = a; del a",
		"at exit":               finalizable + "import atexit; a = A('a'); atexit.register(print, 'first'); atexit.register(print, 'second')",
		"exit functions early":  finalizable + "import atexit; a = A('a'); atexit.register(print, 'early'); atexit._run_exitfuncs(); import json; print(json.dumps(1))",
		"no exit functions":     finalizable + "import atexit; a = A('a'); atexit.register(print, 'never'); atexit._clear()",
		"finalize":              finalizable + "import weakref; a = A('a'); weakref.finalize(a, print, 'finalized')",
		"a thread":              finalizable + "import threading, time; a = A('a'); threading.Thread(target=lambda: (time.sleep(0.2), print('ended'))).start()",
		"a daemon":              finalizable + "import threading, time; a = A('a'); threading.Thread(target=time.sleep, args=(100,), daemon=True).start()",
		"held by a module":      finalizable + "os.held = A('held')",
		"held by a builtin":     finalizable + "import builtins; builtins.held = A('held')",
		"held by sys":           finalizable + "sys._held = A('held')",
		"held by a library":     finalizable + "import codecs; codecs.held = [A('held')]; a = A('a')",
		"held by a cache":       finalizable + "import functools\n@functools.lru_cache\ndef made(n): return A(n)\nmade('a')",
		"held by a module made": finalizable + "import types; m = types.ModuleType('made'); m.a = A('a'); sys.modules['made'] = m",
		"module deleted":        finalizable + "del sys.modules['os']; a = A('a')",
		"modules deleted":       finalizable + "a = A('a'); sys.modules.clear()",
		"generator":             "def g():\n  try: yield\n  finally: print('finally')\nh = g(); next(h)",
		"generator held":        "import os\ndef g():\n  try: yield\n  finally: print('finally')\nos.held = g(); next(os.held)",
		"no dictionary":         "import os\nclass S:\n  __slots__ = ()\n  def __del__(self, write=os.write): write(1, b'end')\nos.held = S()",
		"a file":                "f = open('a', 'w'); f.write('written')",
		"that file":             "print(open('a').read())",
		"a file held":           "import os; os.held = open('b', 'w'); os.held.write('written')",
		"that file held":        "print(open('b').read())",
		"temporary":             "import tempfile; d = tempfile.TemporaryDirectory(dir='.')",
		"nothing temporary":     "import os; print(sorted(os.listdir('.')))",
		"a log":                 "import logging; logging.basicConfig(filename='log'); logging.warning('written')",
		"that log":              "print(open('log').read())",
		"output of C":           "import ctypes; ctypes.CDLL(None).printf(b'from C\\n')",
		"a child":               finalizable + "a = A('a')\nif os.fork() == 0: print('child')\nelse: os.wait(); print('parent')",
		"stdout closed":         "import sys; sys.stdout.close()",
		"stdout replaced":       "import sys\nclass O:\n  def write(self, s): sys.__stderr__.write(s)\n  def flush(self): sys.__stderr__.write('flushed')\nsys.stdout = O(); print('hi')",
		"stdout that fails":     "import os, sys; sys.stdout.reconfigure(write_through=False); print('lost'); os.close(1)",
		"exit":                  finalizable + "a = A('a'); sys.exit(300)",
		"exit with a text":      finalizable + "a = A('a'); sys.exit('because')",
		"exit at once":          finalizable + "a = A('a'); os._exit(7)",
		"exit at exit":          "import atexit, sys; atexit.register(sys.exit, 5); print('end')",
		"failure":               finalizable + "def f(): a = A('a'); raise ValueError('x')\nf()",
		"a hook":                "import sys; sys.excepthook = lambda *a: print('hook'); raise KeyError(1)",
		"a tracer":              finalizable + "sys.settrace(lambda *a: None); a = A('a')",
	}
}

// TestForksEndLikeFreshInterpreters: at the end of a run the zygote's modules are not torn down, without a difference
// that a program could notice: it ends in a fork as in an interpreter of its own.
func TestForksEndLikeFreshInterpreters(t *testing.T) {
	e, sandbox := zygoteSandbox(t)
	wantSameEndings(t, e, sandbox)
}

// TestPreloadedForksEndLikeFreshInterpreters is the same with modules that were imported ahead.
func TestPreloadedForksEndLikeFreshInterpreters(t *testing.T) {
	if testing.Short() {
		t.Skip("the same as without modules, in more of them")
	}
	e, sandbox := zygoteSandbox(t, func(s *yurt.SandboxSpec) { s.Template.Preload = []string{"decimal", "json", "logging", "weakref"} })
	wantSameEndings(t, e, sandbox)
}

func wantSameEndings(t *testing.T, e *executor.Executor, sandbox string) {
	t.Helper()
	fresh := func(s *yurt.ExecutionSpec) { s.Env = map[string]string{"OTHER": "1"} }
	for name, code := range endings() {
		t.Run(name, func(t *testing.T) {
			code = "import sys; sys.stderr.write(str(" + isFork + "))\n" + code
			forked, other := testutil.Execute(t, e, sandbox, testutil.Python(code)), testutil.Execute(t, e, sandbox, testutil.Python(code, fresh))
			if !strings.HasPrefix(forked.Stderr, "1") || !strings.HasPrefix(other.Stderr, "0") {
				t.Fatalf("forked: %q, %q, %+v; fresh: %q, %q", forked.Stdout, forked.Stderr, forked.Error, other.Stdout, other.Stderr)
			}
			got, want := forked.Stderr[1:], other.Stderr[1:]
			if got != want || forked.Stdout != other.Stdout || forked.ExitCode != other.ExitCode {
				t.Errorf("a fork: %d %q %q\nfresh: %d %q %q", forked.ExitCode, forked.Stdout, got, other.ExitCode, other.Stdout, want)
			}
			if (forked.Error == nil) != (other.Error == nil) || forked.Error != nil && (forked.Error.Type != other.Error.Type || forked.Error.Message != other.Error.Message) {
				t.Errorf("a fork: %+v, fresh: %+v", forked.Error, other.Error)
			}
		})
	}
}
