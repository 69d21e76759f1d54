package python_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
)

// documented is the handler that the service which Yurt replaces documents.
const documented = "def handler(event):\n    return {\"result\": \"hello world\"}"

// TestCodeThatOnlyDefines: such code is a submission of its handler, and any other is not.
func TestCodeThatOnlyDefines(t *testing.T) {
	t.Parallel()
	calls := map[string]string{ // the return value by source
		documented: `{"result":"hello world"}`,
		"async def handler(event):\n    import asyncio\n    await asyncio.sleep(0)\n    return event": `{}`,
		"handler = lambda event, context: [event, context.function_name]":                             `[{},"handler"]`,
		"def handler(event, context):\n    return context.get_remaining_time_in_millis() > 0":         `true`,
		"'''A module.'''\nfrom __future__ import annotations\nimport os, json\nfrom math import pi\n" +
			"LIMIT = 60 * 60\nNAMES, EMPTY = ['a', {'b': (1, -2, None)}], {}\nrate: float = 1.5\nunset: int\n" +
			"class Error(Exception):\n    code = int('3')\n@str\ndef text(): pass\ndef helper(n=len('ab')): return n\n" +
			"def handler(event): return [LIMIT, helper(), Error.code, NAMES[1]['b'][1], text[:9], __name__]": `[3600,2,3,-2,"<function","handler"]`,
		"try:\n    import ujson as json\nexcept ImportError:\n    import json\ndef handler(e): return json.dumps([1])": `"[1]"`,
		"def main(event): return 7\nhandler = main":  `7`,
		"from work import handler":                   `"imported"`,
		"def handler(e): print('said'); return None": `null`,
	}
	for source, want := range calls {
		t.Run("calls", func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t, nil)
			write(t, s.workspace, "work.py", []byte("def handler(event): return 'imported'"), 0o644)
			req := code(source)
			req.Handler, req.Timeout = "handler", yurt.Duration(yurt.DefaultExecutionTimeout)
			out := s.run(t, req)
			if string(out.result) != want || out.handler != "handler" || out.code != 0 || out.err != nil {
				t.Errorf("%s\nended with %d, result %s of %q, %+v, stderr %q; want the result %s of its handler", source, out.code, out.result, out.handler, out.err, out.stderr, want)
			}
		})
	}
	plain := map[string]string{
		documented + "\nprint(handler({}))":                   `null`,
		documented + "\nhandler({})":                          `{"result":"hello world"}`,
		documented + "\nclient = dict(a=1)":                   `null`,
		documented + "\nif __name__ == '__main__':\n    pass": `null`,
		documented + "\nname = f'{1}'":                        `null`,
		documented + "\nlist[0] = 1 if 0 else 2":              `null`,
		"def other(event): return 1":                          `null`,
		"handler = 5":                                         `null`,
		"import handler":                                      `null`,
		"class handler: pass":                                 `null`,
		"from work import value as handler":                   `null`,
		"def f():\n    def handler(e): return 1":              `null`,
	}
	for source, want := range plain {
		t.Run("plain", func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t, nil)
			write(t, s.workspace, "work.py", []byte("value = 5"), 0o644)
			write(t, s.workspace, "handler.py", []byte(""), 0o644)
			req := code(source)
			req.Handler = "handler"
			out := s.run(t, req)
			if string(out.result) != want && out.err == nil || out.handler != "" {
				t.Errorf("%s\ngave %s of %q, error %+v; want %s, as of plain code", source, out.result, out.handler, out.err, want)
			}
		})
	}
	t.Run("handler that fails", func(t *testing.T) {
		t.Parallel()
		req := code("def handler(event):\n    return {1, 2}")
		req.Handler = "handler"
		out := newSandbox(t, nil).run(t, req)
		if out.err == nil || out.err.Type != yurt.ErrorTypeNotSerializable || out.code != 1 {
			t.Errorf("a set came back as %s, error %+v, exit code %d", out.result, out.err, out.code)
		}
		req.Code = "def handler(event):\n    raise ValueError('odd')"
		out = newSandbox(t, nil).run(t, req)
		if out.err == nil || out.err.Type != "ValueError" || len(out.err.Stacktrace) != 1 || !strings.Contains(out.err.Stacktrace[0], "line 2") {
			t.Errorf("it failed with %+v", out.err)
		}
		req.Code = "import sys\ndef handler(event):\n    sys.exit(3)"
		if out = newSandbox(t, nil).run(t, req); out.err == nil || out.err.Type != "SystemExit" || out.code != 3 {
			t.Errorf("it exited with %d, %+v", out.code, out.err)
		}
	})
	t.Run("without a name nothing is called", func(t *testing.T) {
		t.Parallel()
		if out := newSandbox(t, nil).run(t, code(documented)); out.handler != "" || string(out.result) != "null" {
			t.Errorf("result %s of %q", out.result, out.handler)
		}
	})
}

// TestValueOfTheLastExpression: a fresh interpreter hands it over, where JSON can say it.
func TestValueOfTheLastExpression(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	for source, want := range map[string]string{
		"6 * 7": `42`, "x = 6\nx * 7\n": `42`, "print(1)": `null`, "x = 1": `null`, "": `null`, "'ü'": `"ü"`,
		"{'a': [1, None, True, 2.5, (3,)]}":      `{"a":[1,null,true,2.5,[3]]}`,
		"{1, 2}":                                 `null`,
		"{1: 2}":                                 `null`,
		"float('nan')":                           `null`,
		"2 ** 60":                                `null`,
		deep:                                     deep,
		"a = []\na.append(a)\na":                 `null`,
		"'\\ud800'":                              `"\ud800"`,
		"for i in range(3):\n    i":              `null`,
		"from __future__ import annotations\n1;": `1`,
		"list(range(3))\n# the end":              `[0,1,2]`,
		"1" + strings.Repeat("+1", 2900):         ``, // nested deeper than a tree is made of: any value, and no error
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			out := newSandbox(t, nil).run(t, code(source))
			if want != "" && string(out.result) != want || out.err != nil || out.code != 0 || out.cut {
				t.Errorf("%.100s\ngave %.100s, error %+v, exit code %d, cut %t; want %.100s", source, out.result, out.err, out.code, out.cut, want)
			}
		})
	}
	for _, n := range []int{1 << 20, yurt.MaxResultBytes - 2, yurt.MaxResultBytes - 1, 1 << 27} {
		out := newSandbox(t, nil).run(t, code(fmt.Sprintf("'x' * %d", n)))
		if fits := n+2 <= yurt.MaxResultBytes; fits == out.cut || fits && len(out.result) != n+2 || !fits && string(out.result) != "null" {
			t.Errorf("a value of %d bytes gave %d, cut %t", n+2, len(out.result), out.cut)
		}
	}
	if out := newSandbox(t, nil).run(t, code("[[0]] * (1 << 40 >> 15) if False else [0] * (1 << 24)")); !out.cut || out.err != nil {
		t.Errorf("a list of %d numbers: cut %t, %+v", 1<<24, out.cut, out.err)
	}
}
