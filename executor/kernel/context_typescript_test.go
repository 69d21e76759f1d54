package kernel_test

import (
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

func typescript(s *yurt.ExecutionSpec) { s.Language = "typescript" }

// wantTyped runs a cell of TypeScript whose last expression has to have this value; "" means that it has no value.
func (n *notebook) wantTyped(value, code string, change ...func(*yurt.ExecutionSpec)) {
	n.t.Helper()
	r := n.run(code, append(change, typescript)...)
	if shown := string(r.Result); r.Error != nil || r.ExitCode != 0 || shown != value && (shown != "null" || value != "") {
		n.t.Errorf("%s\nhas the value %s, want %s (exit code %d, error %+v, stderr %q)", code, r.Result, value, r.ExitCode, r.Error, r.Stderr)
	}
}

func TestTypeScriptCells(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, runs("typescript"))
	n.wantTyped("", "interface Point { x: number }\ntype Name = string\nenum Color { Red, Green }\nnamespace Geometry { export const sides = 4 }")
	n.wantTyped("", "const p: Point = { x: 1 }; let name: Name = 'é'\nfunction twice<T>(a: T): T[] { return [a, a] }")
	n.wantTyped("", "class Shape { constructor(private sides: number) {} get(): number { return this.sides } }")
	n.wantTyped(`[1,"é",1,4,[5,5],3]`, "[p.x, name, Color.Green, Geometry.sides, twice<number>(5), new Shape(3).get()]")
	n.wantTyped(`2`, "const p: number = 2; p")
	n.wantTyped(`{"7":"Blue","Blue":7}`, "enum Color { Blue = 7 }\nColor")
	n.wantTyped(`{"a":1,"b":2}`, "namespace Geometry { export const a = 1 }\nnamespace Geometry { export const b = 2 }\nGeometry")
	n.wantTyped("", "import fs, { readFileSync, Stats } from 'fs'\nimport type { None } from 'nothing'")
	n.wantTyped(`["function","function"]`, "[typeof fs.statSync, typeof readFileSync]")
	n.wantTyped(`9`, "const v: number = await Promise.resolve(9); v")
	n.wantTyped("", "const calls: string[] = []\nfunction log(target: any, key: string, d?: any): any { calls.push(key); return d }\nclass Api { @log call(): number { return 1 } }")
	n.wantTyped(`["call"]`, "calls")
	n.wantTyped(`[]`, "Object.keys(globalThis).filter((name) => name.startsWith('_'))")
	n.wantTyped(`"object"`, "const os = require('os'); typeof os")
	n.wantTyped(`"1"`, "process.env.V", func(s *yurt.ExecutionSpec) { s.Env = map[string]string{"V": "1"} })
	n.wantTyped(`"undefined"`, "typeof p", testutil.InContext("other"))
	n.wantTyped(`"undefined"`, "typeof (globalThis as any).never")
}

// TestTypeScriptFiles imports files in TypeScript, which may change between cells.
func TestTypeScriptFiles(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, runs("typescript"))
	lib := "import { one } from './one.js'\nexport interface I { a: number }\nexport const value: number = 20 + one\nexport function fail(): never {\n  const none: any = null; throw new RangeError('boom')\n}\n"
	files := func(s *yurt.ExecutionSpec) {
		s.Files = []yurt.SourceFile{
			{Path: "lib.ts", Data: []byte(lib)},
			{Path: "one.ts", Data: []byte("export const one: number = 1\n")},
			{Path: "data.json", Data: []byte(`{"n": 3}`)},
			{Path: "plain.mjs", Data: []byte("export default 4\n")},
		}
	}
	n.wantTyped(`[21,3,4]`, "import { value, fail, I } from './lib'\nimport data from './data.json'\nimport plain from './plain.mjs'\n[value, data.n, plain]", files)
	n.wantTyped(`21`, "const again: any = require('./lib'); again.value")
	n.wantTyped(`[21,true]`, "const m = await import('./lib.ts'); [m.value, m.fail === fail]")
	n.wantTyped(`22`, "fs = await import('fs'); fs.writeFileSync('one.ts', 'export const one = 2 // changed'); (await import('./lib')).value")
	r := n.run("fail()", typescript)
	testutil.WantErrorType(t, r, "RangeError")
	if trace := strings.Join(r.Error.Stacktrace, "\n"); !strings.Contains(trace, "lib.ts:5:33") || !strings.Contains(trace, "<cell 5>:1:1") {
		t.Errorf("the stack trace must name the lines of the TypeScript:\n%s", trace)
	}
	n.run("require('fs').writeFileSync('bad.ts', 'export const a = 1\\nlet b: = 2')", typescript)
	testutil.WantErrorType(t, n.run("import { a } from './bad'", typescript), yurt.ErrorTypeSyntax)
}

func TestTypeScriptCellErrors(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, runs("typescript"))
	n.run("interface I {\n  a: number\n}\nfunction fail(): never {\n  const q: any = null;   throw new RangeError('boom')\n}", typescript)
	for _, failure := range []struct{ code, errorType, place string }{
		{"type T = {\n  a: number }\nfail()", "RangeError", "<cell 1>:5:32"},
		{"type T = {\n  a: number }\n  fail()", "RangeError", "<cell 3>:3:3"},
		{"let w: number = 3;    await fail()", "RangeError", "<cell 4>:1:29"},
		{"let é: number = = 1", yurt.ErrorTypeSyntax, "<cell 5>:1:17"},
		{"let a: number = 1\nlet a = 2", yurt.ErrorTypeSyntax, "<cell 6>:2:5"},
		{"let a: string = 'open", yurt.ErrorTypeSyntax, "<cell 7>:1"},
		{"(async (): Promise<void> => { throw new TypeError('alone') })(); 1", "TypeError", "<cell 8>:1:37"},
	} {
		r := n.run(failure.code, typescript)
		testutil.WantErrorType(t, r, failure.errorType)
		if trace := strings.Join(r.Error.Stacktrace, "\n"); r.ExitCode != 1 || r.StateLost || !strings.Contains(trace, failure.place) || strings.Contains(trace+r.Stderr, ".mjs") {
			t.Errorf("%s: exit code %d, %s, stack trace:\n%s\nstderr:\n%s", failure.code, r.ExitCode, r.Error.Message, trace, r.Stderr)
		}
	}
	// esbuild ends with the code that ends it, and is started again.
	n.wantTyped("1", "require('child_process').execSync('kill -9 $(ps -e | grep esbuild | head -n 1 | cut -c 1-7)'); 1")
	n.wantTyped("3", "const after: number = 3; after")
}
