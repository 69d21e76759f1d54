package kernel_test

import (
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// idiom is a cell as language models write them, and its expected outcome.
type idiom struct {
	code, stdin string
	value       string // of the last expression; "" if there is no value
	stdout      string
	errorType   string
	exit        int
}

// idioms are the cells of one notebook, one after the other. Each is JavaScript, and TypeScript too.
func idioms() []idiom {
	return []idiom{
		{code: "const x = 1; let y = 2; var z = 3; const f = () => x", value: ""},
		{code: "const x = 'again'; let y; y = await Promise.resolve(5); [x, y, f()]", value: `["again",5,"again"]`},
		{code: "const { a, b: { c = 5 } = {}, ...rest } = { a: 1, d: 2 }; const [p, , q = 9, ...r] = [1, 2, undefined, 4]"},
		{code: "[a, c, rest, p, q, r]", value: `[1,5,{"d":2},1,9,[4]]`},
		{code: "function* count() { yield 1; yield 2 }\nasync function* later() { for (let i = 0; i < 3; i++) yield i }\n[...count()]", value: "[1,2]"},
		{code: "for await (const i of later()) console.log(i)", stdout: "0\n1\n2\n"},
		{code: "class A { static n = 1 }"},
		{code: "class A { #p = 2; get p() { return this.#p } }\nnew A().p", value: "2"},
		{code: "const name = 'n'; const status = 1; let event = 2, self = 3; [name, status, event, self]", value: `["n",1,2,3]`},
		{code: "const PI = 3; try { PI = 4 } catch (e) { console.log(e.name + ': ' + e.message) }\nPI", value: "3", stdout: "TypeError: Assignment to constant variable.\n"},
		{code: "PI = 5", errorType: "TypeError", exit: 1},
		{code: "const PI = 6; PI", value: "6"},
		{code: "{ a: 1 }", value: `{"a":1}`},
		{code: "{ let inner = 1; inner }"},
		{code: "import fs, { existsSync } from 'fs'\nimport * as fsp from 'fs/promises'\nimport path from 'node:path'\n[typeof fs.statSync, typeof existsSync, typeof fsp.readFile, path.sep]", value: `["function","function","function","/"]`},
		{code: "import path from 'path'; const os = require('os'); [typeof path.join, typeof os.cpus]", value: `["function","function"]`},
		{code: "let n = 0; const timer = setInterval(() => { console.log(++n); if (n === 3) clearInterval(timer) }, 5); await new Promise((r) => setTimeout(r, 50)); n", value: "3", stdout: "1\n2\n3\n"},
		{code: "const readline = require('readline'); for await (const line of readline.createInterface({ input: process.stdin })) console.log('>', line)", stdin: "one\ntwo\n", stdout: "> one\n> two\n"},
		{code: "const rl = readline.createInterface({ input: process.stdin, output: process.stdout }); const who = await new Promise((r) => rl.question('name? ', r)); rl.close(); who", stdin: "bob\n", stdout: "name? ", value: `"bob"`},
		{code: "let text = ''; process.stdin.on('data', (d) => { text += d }); await new Promise((r) => process.stdin.on('end', r)); text", stdin: "in", value: `"in"`},
		{code: "const { Worker } = require('worker_threads'); await new Promise((r) => new Worker('require(\"worker_threads\").parentPort.postMessage(42)', { eval: true }).on('message', r))", value: "42"},
		{code: "require('child_process').execSync('echo hi').toString()", value: `"hi\n"`},
		{code: "require('child_process').spawnSync('echo', ['inherited'], { stdio: 'inherit' }).status", value: "0", stdout: "inherited\n"},
		{code: "const { Readable } = require('stream'); const parts = []; for await (const part of Readable.from(['a', 'b'])) parts.push(part); parts", value: `["a","b"]`},
		{code: "Buffer.from('abc').toString('base64')", value: `"YWJj"`},
		{code: "const bytes = new Uint8Array([0,97,115,109,1,0,0,0,1,5,1,96,0,1,127,3,2,1,0,7,5,1,1,102,0,0,10,6,1,4,0,65,42,11]); (await WebAssembly.instantiate(bytes)).instance.exports.f()", value: "42"},
		{code: "const deep = (n) => deep(n + 1) + 1; deep(0)", errorType: "RangeError", exit: 1},
		{code: "Promise.reject(new Error('alone'))", errorType: "Error", exit: 1},
		{code: "throw 'text'", errorType: "Error", exit: 1},
		{code: "new Promise((_, no) => setTimeout(() => no(new URIError('late')), 5)); await new Promise((r) => setTimeout(r, 50))", errorType: "URIError", exit: 1},
		{code: "console.log('a'.repeat(200000).length); console.table([{ k: 1 }].length); console.group('g'); console.log('in'); console.groupEnd(); console.count()", stdout: "200000\n1\ng\n  in\ndefault: 1\n"},
		{code: "let kept = 7\nprocess.exit(3)", exit: 3},
		{code: "kept", value: "7"},
		{code: "await 1; try { process.exit(4) } catch { console.log('caught') } finally { console.log('finally') }", exit: 4},
		{code: "setTimeout(() => process.exit(5), 5); await new Promise(() => {})", exit: 5},
		{code: "kept", value: "7"},
		{code: "fs.writeFileSync('lib.mjs', 'export const v = 1'); fs.writeFileSync('lib.cjs', 'exports.v = require(\"./data.json\").v'); fs.writeFileSync('data.json', '{\"v\":1}')\nimport { v } from './lib.mjs'; import data from './data.json'; [v, require('./lib.cjs').v, data.v]", value: "[1,1,1]"},
		{code: "fs.writeFileSync('lib.mjs', 'export const v = 22'); fs.writeFileSync('data.json', '{\"v\":22}')\nimport { v } from './lib.mjs'; import data from './data.json'; [v, require('./lib.cjs').v, data.v]", value: "[22,22,22]"},
		{code: "fs.writeFileSync('bad.mjs', 'let a = = 1')\nimport './bad.mjs'", errorType: yurt.ErrorTypeSyntax, exit: 1},
		{code: "await fetch('http://example.com')", errorType: "TypeError", exit: 1},
		{code: "const main = async () => { console.log('a'); await null; return 7 }\nmain()", value: "7", stdout: "a\n"},
		{code: "process.exitCode = 2", exit: 2, value: "2"},
		{code: "const open = [", errorType: yurt.ErrorTypeSyntax, exit: 1},
	}
}

func TestIdioms(t *testing.T) {
	t.Parallel()
	for _, language := range []string{"javascript", "typescript"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			n := newNotebook(t, runs(language))
			for _, i := range idioms() {
				r := n.run(i.code, func(s *yurt.ExecutionSpec) { s.Language, s.Stdin = language, []byte(i.stdin) })
				kind := ""
				if r.Error != nil {
					kind = r.Error.Type
				}
				value := strings.TrimPrefix(string(r.Result), "null")
				if value != i.value || r.Stdout != i.stdout || kind != i.errorType || r.ExitCode != i.exit || r.StateLost {
					t.Errorf("%s\nvalue %s, stdout %.200q, error %q, exit code %d (state lost: %t)\nwant  %s, stdout %.200q, error %q, exit code %d\nstderr %.500q",
						i.code, value, r.Stdout, kind, r.ExitCode, r.StateLost, i.value, i.stdout, i.errorType, i.exit, r.Stderr)
				}
			}
		})
	}
}

// TestJavaScriptDisplays shows values by the ways that notebooks of JavaScript have.
func TestJavaScriptDisplays(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, runs("javascript"))
	for code, want := range map[string][]yurt.Display{
		"({ a: [1] })":  {{"text/plain": []byte(`"{ a: [ 1 ] }"`), "application/json": []byte(`{"a":[1]}`)}},
		"new Map()":     {{"text/plain": []byte(`"Map(0) {}"`)}},
		"10n":           {{"text/plain": []byte(`"10n"`)}},
		"undefined":     nil,
		"display({});1": {{"text/plain": []byte(`"{}"`), "application/json": []byte(`{}`)}, {"text/plain": []byte("\"1\"")}},
		"display.html('<b>'); display.png(Buffer.from([1])); undefined":                                                  {{"text/html": []byte(`"<b>"`)}, {"image/png": []byte(`"AQ=="`)}},
		"display({ 'application/vnd.x+json': [1] }, { raw: true }); undefined":                                           {{"application/vnd.x+json": []byte("[1]")}},
		"display(1, { display_id: 'd' }); display(2, { display_id: 'd', update: true }); undefined":                      {{"text/plain": []byte(`"2"`)}},
		"({ async [Symbol.for('Jupyter.display')]() { return { 'text/html': '<p>', 'text/plain': 'p' } } })":             {{"text/plain": []byte(`"p"`), "text/html": []byte(`"<p>"`)}},
		"({ _toHtml: () => '<p>', [require('util').inspect.custom]: () => 'P' })":                                        {{"text/plain": []byte(`"P"`), "text/html": []byte(`"<p>"`)}},
		"({ [Symbol.for('Jupyter.display')]() { throw new Error('no') }, [require('util').inspect.custom]: () => 'P' })": {{"text/plain": []byte(`"P"`)}},
	} {
		r := n.run(code, javascript)
		if r.Error != nil || len(r.Displays) != len(want) {
			t.Errorf("%s: %d displays %s, want %d; error %+v", code, len(r.Displays), r.Displays, len(want), r.Error)
			continue
		}
		for i, bundle := range want {
			for kind, data := range bundle {
				if string(r.Displays[i][kind]) != string(data) || len(r.Displays[i]) != len(bundle) {
					t.Errorf("%s: display %d is %s, want %s", code, i, r.Displays[i], bundle)
				}
			}
		}
	}
	testutil.WantErrorType(t, n.run("display({ bad: 1 }, { raw: true })", javascript), "TypeError")
}
