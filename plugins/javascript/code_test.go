package javascript_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

func TestCode(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		source    string
		files     map[string]string
		entry     string
		code      int
		stdout    string
		stderr    string // a part of it; empty if the stream is empty
		errorType string
		message   string // how it begins
		stack     []string
	}{
		"prints":         {source: "console.log('hello')", stdout: "hello\n"},
		"white space":    {source: " \n"},
		"CommonJS":       {source: "const os = require('os'); console.log(typeof os.cpus, require.main === module, __filename.endsWith('/main.js'))", stdout: "function true true\n"},
		"ES module":      {source: "import path from 'path'; import { readFileSync as r } from 'node:fs';\nconsole.log(path.sep, typeof r, import.meta.url.endsWith('/main.js'))", stdout: "/ function true\n"},
		"export":         {source: "export const x = 1;\nexport default x; console.log('ran')", stdout: "ran\n"},
		"await":          {source: "const x = await Promise.resolve(42);\nconsole.log(x)", stdout: "42\n"},
		"await, require": {source: "const fs = require('fs');\nconsole.log(typeof await fs.promises.readdir('.'))", stdout: "object\n"},
		"dynamic import": {source: "import('./lib.mjs').then((m) => console.log(m.value))", files: map[string]string{"lib.mjs": "export const value = 5"}, stdout: "5\n"},
		"await of a dynamic import": {
			source: "const { value } = await import('./lib.mjs'); console.log(value)",
			files:  map[string]string{"lib.mjs": "export const value = 5"}, stdout: "5\n",
		},
		"requires from the workspace": {source: "console.log(require('./lib').value, require('pkg'))", files: map[string]string{"lib.js": "exports.value = 1", "node_modules/pkg/index.js": "module.exports = 'pkg'"}, stdout: "1 pkg\n"},
		"imports from the workspace":  {source: "import { value } from './lib.mjs'; import pkg from 'pkg';\nconsole.log(value, pkg)", files: map[string]string{"lib.mjs": "export const value = 1", "node_modules/pkg/index.js": "module.exports = 'pkg'"}, stdout: "1 pkg\n"},
		"imports by condition": {
			source: "import kind from 'pkg'; console.log(kind)", stdout: "import\n",
			files: map[string]string{
				"node_modules/pkg/package.json": `{"exports":{"import":"./i.mjs","require":"./r.cjs"}}`,
				"node_modules/pkg/i.mjs":        "export default 'import'", "node_modules/pkg/r.cjs": "module.exports = 'require'",
			},
		},
		"a hash-bang":              {source: "#!/usr/bin/env node\nconsole.log(1)", stdout: "1\n"},
		"a byte order mark":        {source: "\ufeffconsole.log(1)", stdout: "1\n"},
		"waits for what is left":   {source: "setTimeout(() => console.log('later'), 20); console.log('first')", stdout: "first\nlater\n"},
		"exit code":                {source: "console.log('a'); process.exit(7)", code: 7, stdout: "a\n"},
		"exit code that is set":    {source: "process.exitCode = 3", code: 3},
		"a project in CommonJS":    {entry: "src/app.js", files: map[string]string{"src/app.js": "console.log(require('./lib'), require.main === module)", "src/lib.js": "module.exports = 'lib'"}, stdout: "lib true\n"},
		"a project of modules":     {entry: "app.mjs", files: map[string]string{"app.mjs": "import x from './lib.mjs'; console.log(await x)", "lib.mjs": "export default Promise.resolve('lib')"}, stdout: "lib\n"},
		"modules by package.json":  {entry: "src/app.js", files: map[string]string{"package.json": `{"type":"module"}`, "src/app.js": "import x from './lib.js'; console.log(x)", "src/lib.js": "export default 'lib'"}, stdout: "lib\n"},
		"a module in a plain file": {entry: "app.js", files: map[string]string{"app.js": "import x from './lib.mjs'; console.log(x)", "lib.mjs": "export default 'lib'"}, stdout: "lib\n"},
		"error": {
			source: "function f() {\n  throw new TypeError('bad')\n}\nf()", code: 1, stderr: "TypeError: bad", errorType: "TypeError", message: "bad",
			stack: []string{"at Object.<anonymous> (main.js:4:1)", "at f (main.js:2:9)"},
		},
		"error in a module": {
			source: "import 'fs';\nconst f = async () => { await null; throw new TypeError('bad') };\nawait f()", code: 1, stderr: "TypeError: bad",
			errorType: "TypeError", message: "bad", stack: []string{"at async main.js:3:1", "at f (main.js:2:43)"},
		},
		"error in a file": {
			source: "require('./lib')()", files: map[string]string{"lib.js": "module.exports = () => {\n  null.x\n}"}, code: 1, stderr: "TypeError", errorType: "TypeError",
			message: "Cannot read properties of null", stack: []string{"at Object.<anonymous> (main.js:1:17)", "at module.exports (lib.js:2:8)"},
		},
		"error later":             {source: "setTimeout(() => { throw new Error('late') }, 1)", code: 1, stderr: "Error: late", errorType: "Error", message: "late"},
		"nobody handles a reject": {source: "Promise.reject(new RangeError('alone'))", code: 1, stderr: "RangeError: alone", errorType: "RangeError", message: "alone"},
		"handled by the code":     {source: "process.on('uncaughtException', (e) => console.log('caught', e.message)); setTimeout(() => { throw new Error('x') }, 1)", stdout: "caught x\n"},
		"something else thrown":   {source: "throw 'text'", code: 1, stderr: "text", errorType: "Error", message: "text"},
		"undefined thrown":        {source: "throw undefined", code: 1, stderr: "undefined", errorType: "Error", message: "undefined"},
		"an error that lies":      {source: "throw { get message() { throw 1 }, get stack() { return 5 } }", code: 1, stderr: "Uncaught", errorType: "Object", message: "<the error cannot be read>"},
		"its own class":           {source: "class MyError extends Error { name = 'MyError' }\nthrow new MyError('m')", code: 1, stderr: "m", errorType: "MyError", message: "m"},
		"JSON is not code":        {source: "JSON.parse('{')", code: 1, stderr: "SyntaxError", errorType: "SyntaxError"},
		"never comes":             {source: "console.log('a'); await new Promise(() => {})", code: 13, stdout: "a\n", stderr: "never comes", errorType: "UnsettledAwait"},
		"compile error": {
			source: "console.log(1)\n\nconst y = = 2", code: 1, stderr: "const y = = 2", errorType: yurt.ErrorTypeSyntax,
			message: "main.js:3:11: Unexpected token '='", stack: []string{"main.js:3:11"},
		},
		"compile error in a module": {
			source: "import 'fs'\n\nconst y = = 2", code: 1, stderr: "const y = = 2", errorType: yurt.ErrorTypeSyntax,
			message: "main.js:3:11: Unexpected token '='", stack: []string{"main.js:3:11"},
		},
		"compile error in a file": {
			entry: "app.js", files: map[string]string{"app.js": "require('./lib')", "lib.js": "let x = 1\nlet x = 2"}, code: 1, stderr: "let x = 2",
			errorType: "SyntaxError", message: "Identifier 'x' has already been declared",
		},
		"compile error in an imported file": {
			entry: "app.mjs", files: map[string]string{"app.mjs": "import './lib.mjs'", "lib.mjs": "\nlet x = = 2"}, code: 1, stderr: "let x = = 2",
			errorType: yurt.ErrorTypeSyntax, message: "lib.mjs:2:9: Unexpected token", stack: []string{"lib.mjs:2:9"},
		},
		"no such module": {source: "require('nothing-there')", code: 1, stderr: "nothing-there", errorType: "Error", message: "Cannot find module 'nothing-there'"},
		"NUL":            {source: "const x = '\x00'; console.log(x.length)", stdout: "1\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := code(tt.source)
			req.Entry = tt.entry
			got := run(t, tt.files, req)
			if got.code != tt.code || got.stdout != tt.stdout {
				t.Errorf("exit code %d, stdout %q; want %d, %q", got.code, got.stdout, tt.code, tt.stdout)
			}
			if !strings.Contains(got.stderr, tt.stderr) || tt.stderr == "" && got.stderr != "" {
				t.Errorf("stderr %q, want %q", got.stderr, tt.stderr)
			}
			checkError(t, got, tt.errorType, tt.message, tt.stack)
		})
	}
}

func checkError(t *testing.T, got outcome, errorType, message string, stack []string) {
	t.Helper()
	if errorType == "" {
		if got.err != nil {
			t.Errorf("error %+v, want none", got.err)
		}
		return
	}
	if got.err == nil {
		t.Fatalf("no error, want %s", errorType)
	}
	if got.err.Type != errorType || !strings.HasPrefix(got.err.Message, message) {
		t.Errorf("error %s: %q, want %s: %q", got.err.Type, got.err.Message, errorType, message)
	}
	if stack != nil && !slices.Equal(got.err.Stacktrace, stack) {
		t.Errorf("stack trace %q, want %q", got.err.Stacktrace, stack)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	got := run(t, nil, code("console.log(process.argv.slice(2), process.argv[1].endsWith('main.js'))", "a b", "-x", ""))
	if got.stdout != "[ 'a b', '-x', '' ] true\n" {
		t.Errorf("got %+v", got)
	}
}

func TestPlanRefuses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*plugins.PlanRequest){
		"kind":              func(r *plugins.PlanRequest) { r.Kind = yurt.KindCommand },
		"event":             func(r *plugins.PlanRequest) { r.Event = []byte(`{"a":`) },
		"event, not UTF-8":  func(r *plugins.PlanRequest) { r.Event = []byte("\"\xff\"") },
		"context":           func(r *plugins.PlanRequest) { r.Context = []byte(`[]`) },
		"context, a method": func(r *plugins.PlanRequest) { r.Context = []byte(`{"getRemainingTimeInMillis":1}`) },
	} {
		req := handler("exports.handler = () => 1", `{}`)
		req.Tools = map[string]string{"node": "/usr/bin/node"}
		change(&req)
		if _, err := plan(t, req); yurt.CodeOf(err) != yurt.CodeInvalidArgument && yurt.CodeOf(err) != yurt.CodeNotSupported {
			t.Errorf("%s: %v", name, err)
		}
	}
}
