package kernel_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

func runs(runtime string) func(*yurt.SandboxSpec) {
	return func(s *yurt.SandboxSpec) { s.Template.Runtimes = []string{runtime} }
}

func javascript(s *yurt.ExecutionSpec) { s.Language = "javascript" }

// wantValue runs a cell of JavaScript whose last expression has to have this value.
func (n *notebook) wantValue(value, code string, change ...func(*yurt.ExecutionSpec)) {
	n.t.Helper()
	r := n.run(code, append(change, javascript)...)
	if r.Error != nil || r.ExitCode != 0 || string(r.Result) != value {
		n.t.Errorf("%s\nhas the value %s, want %s (exit code %d, error %+v, stderr %q)", code, r.Result, value, r.ExitCode, r.Error, r.Stderr)
	}
}

func TestJavaScriptCells(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, runs("javascript"))
	n.run("const x = 20; let y; class A { static z = 3 }\nfunction double(n) { return 2 * n }", javascript)
	n.wantValue(`[40,3]`, "[double(x), A.z]")
	n.wantValue(`21`, "const x = 21; x")
	n.wantValue(`42`, "double(x)")
	n.wantValue(`["function","b"]`, "import fs from 'node:fs'\nimport { basename } from 'path'\n[typeof fs.statSync, basename('/a/b')]")
	n.wantValue(`"object"`, "const os = require('os'); typeof os")
	n.wantValue(`[5,3]`, "const d = await Promise.resolve(5); for (var i = 0; i < 3; i++) await i\nfunction sum() { return d + i }\n[d, i]")
	n.wantValue(`8`, "sum()")
	n.wantValue(`7`, "const main = async () => 7\nmain()")
	n.wantValue(`"0cc175b9c0f1b6a831c399e269772661"`, "const crypto = require('crypto'); crypto.createHash('md5').update('a').digest('hex')")
	n.wantValue(`"in"`, "require('fs').readFileSync(0, 'utf8')", func(s *yurt.ExecutionSpec) { s.Stdin = []byte("in") })
	n.wantValue(`["1",null]`, "[process.env.V, process.env.W ?? null]", func(s *yurt.ExecutionSpec) { s.Env = map[string]string{"V": "1"} })
	n.wantValue(`"undefined"`, "typeof process.env.V")
	n.wantValue(`"sub"`, "fs.mkdirSync('sub'); process.chdir('sub'); basename(process.cwd())")
	n.wantValue(`"sub"`, "basename(__dirname)")
	n.wantValue(`"undefined"`, "typeof x", testutil.InContext("other"))
	if r := n.want("1\n", "console.log(1); new Set([2])", javascript); r.MainDisplay == nil || string(r.Displays[*r.MainDisplay]["text/plain"]) != `"Set(1) { 2 }"` {
		t.Errorf("a set is shown as %s", r.Displays)
	}
}

func TestJavaScriptCellErrors(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, runs("javascript"))
	n.run("function fail() {\n  throw new RangeError('boom')\n}", javascript)
	for _, failure := range []struct{ code, errorType, place string }{
		{"let x = 1\nfail()", "RangeError", "<cell 1>:2:9"},
		{"await 1\nfail()", "RangeError", "<cell 3>:2:1"},
		{"let z = = 1", yurt.ErrorTypeSyntax, "<cell 4>:1:9"},
		{"Promise.reject(new TypeError('alone'))\n1", "TypeError", "<cell 5>:1"},
		{"setTimeout(() => { throw new TypeError('later') }, 10)\nawait new Promise(() => {})", "TypeError", "<cell 6>:1"},
		{"// comment\nawait Promise.reject(new Error('r'))", "Error", "<cell 7>:2:22"},
		{"let y = 2; // comment\n  await fail(\n)", "RangeError", "<cell 8>:2:9"},
		{"await Promise.any([\n  Promise.reject(new TypeError('in the group'))])", "AggregateError", "TypeError: in the group\nat <cell 9>:2:18"},
		{"await 1\nimport nothing from './none.mjs'", "Error", ""},
	} {
		r := n.run(failure.code, javascript)
		testutil.WantErrorType(t, r, failure.errorType)
		if trace := strings.Join(r.Error.Stacktrace, "\n"); r.ExitCode != 1 || r.StateLost || !strings.Contains(trace, failure.place) || strings.Contains(trace+r.Error.Message+r.Stderr, "kernel.mjs") {
			t.Errorf("%s: exit code %d, %s, stack trace:\n%s\nstderr:\n%s", failure.code, r.ExitCode, r.Error.Message, trace, r.Stderr)
		}
		if last := fmt.Sprintf(":%d:", strings.Count(failure.code, "\n")+2); len(r.Error.Stacktrace) > 0 && strings.Contains(r.Error.Stacktrace[0], last) {
			t.Errorf("%s: the outermost line, %s, is not in the code", failure.code, r.Error.Stacktrace[0])
		}
	}
	n.wantValue("1", "x")
}

// TestJavaScriptIsInterrupted interrupts code wherever it is.
func TestJavaScriptIsInterrupted(t *testing.T) {
	t.Parallel()
	n := newNotebook(t, runs("javascript"))
	n.run("let x = 1; const begun = () => require('fs').writeFileSync('/tmp/begun', '')", javascript)
	for _, code := range []string{
		"begun(); while (true);",
		"begun(); await 1; while (true);",
		"begun(); await new Promise(() => {})",
		"setTimeout(() => { begun(); while (true); }); await new Promise(() => {})",
		"process.on('SIGINT', () => {}); begun(); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
	} {
		spec := testutil.Cell(code, javascript)
		if err := n.e.StartExecution(t.Context(), n.sandbox, spec); err != nil {
			t.Fatal(err)
		}
		testutil.Run(t, n.e, n.sandbox, "until test -e /tmp/begun; do sleep 0.01; done; rm /tmp/begun")
		if err := n.e.SignalExecution(t.Context(), n.sandbox, spec.ID, yurt.Signal(syscall.SIGINT)); err != nil {
			t.Fatal(err)
		}
		r, err := n.e.WaitExecution(t.Context(), n.sandbox, spec.ID)
		if err != nil {
			t.Fatal(err)
		}
		testutil.WantErrorType(t, r, yurt.ErrorTypeInterrupted)
		if r.ExitCode != 130 || r.StateLost {
			t.Errorf("%s: exit code %d, state lost %t", code, r.ExitCode, r.StateLost)
		}
		n.wantValue("1", "x")
	}
	r := n.run("await 1; while (true);", javascript, testutil.Timeout(time.Second))
	testutil.WantErrorType(t, r, yurt.ErrorTypeTimeout)
	n.wantValue("1", "x")
}
