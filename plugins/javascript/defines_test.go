package javascript_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

func submission(source string) plugins.PlanRequest {
	req := code(source)
	req.Handler, req.Timeout, req.MemoryLimit = "handler", yurt.Duration(10*time.Second), 256<<20
	return req
}

// TestCodeThatOnlyDefines: such code is a submission of its handler, and any other is not.
func TestCodeThatOnlyDefines(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"function handler(event) { return event }":                                                    `{}`,
		"async function handler(event, context) { return context.getRemainingTimeInMillis() > 5000 }": `true`,
		"const handler = (event) => [event, 1]":                                                       `[{},1]`,
		"exports.handler = (event, context, callback) => callback(null, context.memoryLimitInMB)":     `"256"`,
		"exports.handler = module.exports.handler = () => 2":                                          `2`,
		"module.exports = { handler() { return 3 } }":                                                 `3`,
		"function handler() { return 4 }\nmodule.exports = { handler };":                              `4`,
		"export function handler() { return 5 }":                                                      `5`,
		"export default { handler: () => 6 }":                                                         `6`,
		"const handler = () => 7; export { handler }":                                                 `7`,
		"'use strict';\nconst { join } = require('path'), fs = require('node:fs').promises;\nlet n = 60 * 60, list = [1, { a: -1, b: `t` }], none;\nclass A extends Array {}\nfunction handler() { return [join('a', 'b'), n, list.length] } // the end": `["a/b",3600,2]`,
		"import { basename } from 'node:path'\nconst os = await import('node:os')\nfunction handler() { return basename('/a/b') + typeof os.cpus }":                                                                                                      `"bfunction"`,
		"function handler() { console.log('said') }": `null`,
	} {
		t.Run("calls", func(t *testing.T) {
			t.Parallel()
			out := run(t, nil, submission(source))
			if string(out.result) != want || out.handler != "handler" || out.code != 0 || out.err != nil {
				t.Errorf("%s\nended with %d, result %s of %q, error %+v; want the result %s of its handler", source, out.code, out.result, out.handler, out.err, want)
			}
		})
	}
	for _, source := range []string{
		"function handler() { return 1 }\nconsole.log(handler())", "function handler() { return 1 }\nconst n = handler()",
		"function other() { return 1 }", "const handler = 5", "class handler {}", "function handler() { return 1 }\nif (true) {}",
		"function handler() { return 1 }\nexports[handler()] = 1", "function f() { function handler() {} }", "{ const handler = () => 1 }",
	} {
		t.Run("plain", func(t *testing.T) {
			t.Parallel()
			if out := run(t, nil, submission(source)); out.handler != "" || out.err != nil {
				t.Errorf("%s\ncalled %q, error %+v, as if it only defined things", source, out.handler, out.err)
			}
		})
	}
	t.Run("without a name nothing is called", func(t *testing.T) {
		t.Parallel()
		if out := run(t, nil, code("function handler() { return 1 }")); out.handler != "" || len(out.result) != 0 {
			t.Errorf("result %s of %q", out.result, out.handler)
		}
	})
	t.Run("handler that fails", func(t *testing.T) {
		t.Parallel()
		out := run(t, nil, submission("function handler() {\n  throw new TypeError('odd')\n}"))
		if out.err == nil || out.err.Type != "TypeError" || len(out.err.Stacktrace) != 1 || !strings.Contains(out.err.Stacktrace[0], "main.js:2:9") {
			t.Errorf("it failed with %+v", out.err)
		}
	})
}

// TestValueOfTheLastExpression: a fresh interpreter hands it over, where JSON can say it, and
// errors name the places that the user knows.
func TestValueOfTheLastExpression(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"6 * 7": `42`, "const n = 6\nn * 7;\n": `42`, "console.log(1)": ``, "const n = 1": ``, "": ``, "'ü' // text": `"ü"`,
		"({ a: [1, null, true, 2.5] })": `{"a":[1,null,true,2.5]}`, "await Promise.resolve(1); 2": `2`, "Promise.resolve(3)": `3`,
		"new Map()": `null`, "NaN": `null`, "undefined": ``, "(() => {})": `null`, "for (const i of [1]) i": ``, "'use strict'": `"use strict"`,
		"setTimeout(() => console.log('late'), 5); 4": `4`, "import fs from 'fs'\ntypeof fs.readFileSync": `"function"`,
		"const a = []; a.push(a); a": `null`, "x = 1\nconsole.log('a')": ``, "process.exitCode = 3; 5": `5`, "if (1) return\n2": ``,
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			out := run(t, nil, code(source))
			if string(out.result) != want || out.err != nil || out.cut {
				t.Errorf("%s\ngave %q, error %+v, cut %t; want %q", source, out.result, out.err, out.cut, want)
			}
		})
	}
	for source, want := range map[string]string{
		"const f = () => { throw new Error('no') }\nf()": "main.js:2:1", "nothing()": "main.js:1:1", "1; nothing( )": "main.js:1:4",
		"Promise.reject(new Error('late'))": "main.js:1:16",
	} {
		out := run(t, nil, code(source))
		if out.err == nil || len(out.err.Stacktrace) == 0 || !strings.HasSuffix(strings.TrimSuffix(out.err.Stacktrace[0], ")"), want) || out.code == 0 {
			t.Errorf("%s\nfailed with %+v, exit code %d; want an error at %s", source, out.err, out.code, want)
		}
	}
	for _, n := range []int{1 << 20, yurt.MaxResultBytes - 2, yurt.MaxResultBytes - 1} {
		out := run(t, nil, code(fmt.Sprintf("'x'.repeat(%d)", n)))
		if fits := n+2 <= yurt.MaxResultBytes; fits == out.cut || fits && len(out.result) != n+2 || !fits && string(out.result) != "null" {
			t.Errorf("a value of %d bytes gave %d, cut %t", n+2, len(out.result), out.cut)
		}
	}
}
