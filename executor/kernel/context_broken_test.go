package kernel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestBrokenKernels has code break the internals of its kernel. Each such execution ends at once, and never by its
// timeout: with an error that says that the state is lost, or, where survives is set, as usual.
func TestBrokenKernels(t *testing.T) {
	t.Parallel()
	for language, kernel := range map[string]struct {
		state, check string // sets a variable, fails without it
		breakers     []breaker
	}{
		"python":     {"x = 1", "assert x == 1", pythonBreakers()},
		"javascript": {"globalThis.x = 1", "if (x !== 1) throw new Error('x is lost')", javascriptBreakers()},
		"bash":       {"x=1", "set -u; [[ $x == 1 ]] 2>/dev/null", bashBreakers()},
	} {
		t.Run(language, func(t *testing.T) {
			n := newNotebook(t, runs(language))
			change := []func(*yurt.ExecutionSpec){func(s *yurt.ExecutionSpec) { s.Language = language }, testutil.Timeout(20 * time.Second)}
			for _, b := range kernel.breakers {
				n.run(kernel.state, change...)
				r := n.run(b.code, change...)
				if b.later && !r.StateLost {
					r = n.run(kernel.check, change...)
				}
				if !r.KernelRestarted { // else the kernel had broken before it read the request, which the next one ran
					b.check(t, r)
				}
				if r := n.run(kernel.check, change...); b.survives && (r.ExitCode != 0 || r.KernelRestarted) || !b.survives && r.ExitCode == 0 {
					t.Errorf("%s: afterwards the exit code is %d, kernel restarted %t, error %+v, stderr %q", b.code, r.ExitCode, r.KernelRestarted, r.Error, r.Stderr)
				}
				if err := n.e.RestartContext(t.Context(), n.sandbox, yurt.DefaultContext, ""); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// breaker is code that breaks its kernel.
type breaker struct {
	code     string
	said     string // part of the error's message
	survives bool
	later    bool // it can also be the next execution that ends
}

func (b breaker) check(t *testing.T, r *yurt.Result) {
	t.Helper()
	if b.survives {
		if r.Error != nil || r.StateLost {
			t.Errorf("%s: error %+v, state lost %t, stderr %q", b.code, r.Error, r.StateLost, r.Stderr)
		}
		return
	}
	if r.Error == nil || r.Error.Type != yurt.ErrorTypeKernelDied || !r.StateLost || r.ExitCode == 0 || !strings.Contains(r.Error.Message, b.said) {
		t.Errorf("%s: exit code %d, state lost %t, error %+v, want one that contains %q", b.code, r.ExitCode, r.StateLost, r.Error, b.said)
	}
	if text := r.Stderr + r.Stdout; strings.Contains(text, "/run/yurt") || r.Error != nil && strings.Contains(r.Error.Message, "/run/yurt") {
		t.Errorf("%s: a path of the kernel shows: %q, %+v", b.code, text, r.Error)
	}
}

func pythonBreakers() []breaker {
	const kernel = "import gc\n[kernel] = [one for one in gc.get_objects() if type(one).__name__ == 'Kernel']\n"
	return []breaker{
		{code: "import os\nos.write = os.read = os._exit = lambda *args: 0", survives: true},
		{code: "class Odd:\n  def __repr__(self): raise SystemError\n  _repr_html_ = __repr__\ntry: display(Odd())\nexcept SystemError: pass", survives: true},
		{code: kernel + "kernel.finish_with = None", said: "TypeError: 'NoneType' object is not callable", later: true},
		{code: kernel + "kernel.request = None", said: "exited with 1", later: true},
		{code: "import sys\ndel sys.stdout", said: "no attribute 'stdout'"},
		{code: "import sys\nclass Out:\n  def write(self, text): pass\n  def flush(self): raise SystemExit(3)\nsys.stdout = Out()", said: "SystemExit: 3"},
		{code: "import os, threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()\nos.closerange(3, 4096)", said: "exited with 1"},
	}
}

func javascriptBreakers() []breaker {
	return []breaker{
		{code: "JSON.stringify = JSON.parse = () => { throw new Error('none') }", survives: true},
		{code: "for (const name of ['JSON', 'Buffer', 'process', 'Promise', 'setImmediate']) globalThis[name] = null", survives: true},
		{code: "process.nextTick = setImmediate = setTimeout = queueMicrotask = () => {}", survives: true},
		{code: "Promise.race = () => new Promise(() => {}); Promise.prototype.then = Promise.prototype.finally = null", survives: true},
		{code: "process.stdout.write = process.stderr.write = require('fs').writeSync = () => { throw new Error('x') }", survives: true},
		{code: "require('events').prototype.emit = () => {}", survives: true},
		{code: "process._getActiveHandles().forEach((handle) => handle.destroy?.())", survives: true},
		{code: "({ [Symbol.for('nodejs.util.inspect.custom')]() { throw new Error('x') } })", survives: true},
		{code: "Object.prototype.toJSON = () => { throw new Error('no JSON') }", said: "Error: no JSON"},
		{code: "Array.prototype[Symbol.iterator] = () => { throw new Error('no lists') }", said: "Error: no lists"},
		{code: "String.prototype.split = () => { throw new Error('no lines') }", said: "exited with 1", later: true},
		{code: "require('fs').closeSync(3)", said: "exited with 1"},
	}
}

func bashBreakers() []breaker {
	return []breaker{
		{code: "break", survives: true},
		{code: "continue", survives: true},
		{code: "printf() { :; }; read() { :; }; source() { :; }; :() { exit 1; }", survives: true},
		{code: "unset -f __yurt_after 2>/dev/null; unset __yurt_id __yurt_code", said: "no execution"},
		{code: "set -n", said: "set -n"},
		{code: "shopt -so noexec", said: "set -n"},
		{code: "shopt -s extdebug; trap false DEBUG", said: "extdebug"},
		{code: "break 9", said: "loop"},
		{code: "readonly __yurt_answer", said: "loop"},
		{code: "builtin() { :; }", said: "builtin"},
		{code: "enable -n read", said: "builtin"},
		{code: "for fd in /proc/self/fd/*; do fd=${fd##*/}; ((fd > 2)) && exec {fd}>&-; done 2>/dev/null", said: "descriptors"},
	}
}

// TestJavaScriptFindsPackages: NODE_PATH, by which an execution has its packages, is heeded in a
// context whose interpreter runs already, and by the imports of ES modules in files.
func TestJavaScriptFindsPackages(t *testing.T) {
	t.Parallel()
	for _, language := range []string{"javascript", "typescript"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			n := newNotebook(t, runs(language))
			in := func(s *yurt.ExecutionSpec) { s.Language = language }
			testutil.Run(t, n.e, n.sandbox, `mkdir -p lib/node_modules/six more/node_modules/seven
echo 'module.exports = 6' >lib/node_modules/six/index.js
echo 'export default 7' >more/node_modules/seven/index.mjs
echo '{"exports": "./index.mjs"}' >more/node_modules/seven/package.json
echo "import six from 'six'; export default 7 * six; export const later = () => import('seven')" >mine.mjs
echo "import seven from 'seven'; export { default as six } from './mine.mjs'; export { seven }" >more.mjs`)
			packages := func(dirs string) func(*yurt.ExecutionSpec) {
				return func(s *yurt.ExecutionSpec) { s.Env = map[string]string{"NODE_PATH": dirs} }
			}
			lib, more := packages("/workspace/lib/node_modules"), packages("/workspace/more/node_modules:/workspace/lib/node_modules")
			for _, cell := range []struct {
				code, value string
				packages    func(*yurt.ExecutionSpec)
			}{
				{"7 * require('six')", "42", lib},
				{"(await import('six')).default", "6", lib},
				{"import mine, { later } from './mine.mjs'; mine", "42", lib},
				{"await later().catch((error) => error.code)", `"ERR_MODULE_NOT_FOUND"`, lib},
				{"import { six, seven } from './more.mjs'; [six, seven, (await later()).default]", "[42,7,7]", more},
			} {
				if r := n.run(cell.code, in, cell.packages); string(r.Result) != cell.value {
					t.Errorf("%s\nhas the value %s, want %s (error %+v)", cell.code, r.Result, cell.value, r.Error)
				}
			}
			for _, code := range []string{"import mine from './mine.mjs'; console.log(mine)", "import('./mine.mjs').then((mine) => console.log(mine.default))"} {
				if r := n.run(code, in, more, testutil.InContext("")); r.Stdout != "42\n" {
					t.Errorf("without a context, %s\nprints %q (error %+v)", code, r.Stdout, r.Error)
				}
			}
		})
	}
}
