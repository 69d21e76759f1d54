package python_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins"
)

// TestHandler runs the ways in which a handler can be written and be called.
func TestHandler(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		source  string
		handler string
		event   string
		files   map[string]string
		want    string // JSON
		stdout  string
	}{
		"event":             {source: "def handler(event): return event", event: `{"name":"x","n":[1,2.5,null,true,"ü"]}`, want: `{"name":"x","n":[1,2.5,null,true,"ü"]}`},
		"event and context": {source: "def handler(event, context): return [event, context.function_name]", event: `1`, want: `[1,"handler"]`},
		"no event":          {source: "def handler(event): return event", want: `{}`},
		"event with spaces": {source: "def handler(event): return event", event: " \n{ \"a\" : [ ] }\n", want: `{"a":[]}`},
		"large numbers":     {source: "def handler(event): return event", event: `[123456789012345678901234567890, 1e300]`, want: `[123456789012345678901234567890,1e+300]`},
		"returns nothing":   {source: "def handler(event): pass", want: `null`},
		"prints":            {source: "def handler(event):\n    print('out')\n    return 1", want: `1`, stdout: "out\n"},
		"named":             {source: "def main(e, c): return 'main'", handler: "main", want: `"main"`},
		"module.function":   {source: "def lambda_handler(e, c): return __name__", handler: "app.lambda_handler", want: `"handler"`},
		"default argument":  {source: "def handler(event, context=None): return context is not None", want: `true`},
		"var args":          {source: "def handler(*args): return len(args)", want: `2`},
		"event and var args": {
			source: "def handler(event, *rest): return len(rest)", want: `1`,
		},
		"keyword only": {source: "def handler(event, *, debug=False): return debug", want: `false`},
		"lambda":       {source: "handler = lambda e: 'l'", want: `"l"`},
		"partial":      {source: "import functools\ndef f(a, e): return [a, e]\nhandler = functools.partial(f, 1)", event: `2`, want: `[1,2]`},
		"bound method": {source: "class A:\n    def run(self, event): return event\nhandler = A().run", event: `3`, want: `3`},
		"bound method with context": {
			source: "class A:\n    def run(self, event, context): return context.function_name\nhandler = A().run", want: `"handler"`,
		},
		"object with __call__": {source: "class A:\n    def __call__(self, event): return event\nhandler = A()", event: `4`, want: `4`},
		"object with __call__ and context": {
			source: "class A:\n    def __call__(self, event, context): return context.memory_limit_in_mb\nhandler = A()", want: `256`,
		},
		"built-in function": {source: "handler = len", event: `[1,2]`, want: `2`},
		"decorated": {
			source: "import functools\ndef d(f):\n    @functools.wraps(f)\n    def w(*a, **k): return f(*a, **k)\n    return w\n@d\ndef handler(event): return event",
			event:  `5`, want: `5`,
		},
		"decorator takes the context": {
			source: "import functools\ndef d(f):\n    @functools.wraps(f)\n    def w(event, context): return [f(event), context.function_name]\n    return w\n@d\ndef handler(event): return event",
			event:  `6`, want: `[6,"handler"]`,
		},
		"async":              {source: "async def handler(event): return event", event: `7`, want: `7`},
		"async with context": {source: "import asyncio\nasync def handler(event, context):\n    await asyncio.sleep(0.01)\n    return context.function_name", want: `"handler"`},
		"async late import":  {source: "async def handler(event):\n    import asyncio\n    return await asyncio.gather(asyncio.sleep(0, 1), asyncio.sleep(0, 2))", want: `[1,2]`},
		"async object":       {source: "class A:\n    async def __call__(self, event): return event\nhandler = A()", event: `8`, want: `8`},
		"awaitable":          {source: "class W:\n    def __await__(self):\n        yield from ()\n        return 9\ndef handler(event): return W()", want: `9`},
		"module state": {
			source: "import json, helper\nCACHE = {'a': helper.one}\ndef handler(event): return json.dumps(CACHE)",
			files:  map[string]string{"helper.py": "one = 1"}, want: `"{\"a\": 1}"`,
		},
		"is not the main module": {source: "ran = False\nif __name__ == '__main__':\n    ran = True\ndef handler(event): return ran", want: `false`},
		"tuples and subclasses": {
			source: "import collections, enum\nclass N(enum.IntEnum):\n    A = 1\nclass S(str): pass\nP = collections.namedtuple('P', 'x y')\n" +
				"def handler(event): return [(1, 2), P(3, 4), collections.OrderedDict(a=1), N.A, S('s'), {S('k'): 1}]",
			want: `[[1,2],[3,4],{"a":1},1,"s",{"k":1}]`,
		},
		"deep":                {source: "def handler(event):\n    a = 1\n    for _ in range(900): a = [a]\n    return a", want: strings.Repeat("[", 900) + "1" + strings.Repeat("]", 900)},
		"shared but no cycle": {source: "def handler(event):\n    a = [1]\n    return [a, a]", want: `[[1],[1]]`},
		"half a surrogate":    {source: "def handler(event): return '\\ud800ü'", want: `"\ud800\u00fc"`},
		"control characters":  {source: "def handler(event): return 'a\\x00\\n\\u2028'", want: `"a\u0000\n` + "\u2028" + `"`},
		"own json module":     {source: "def handler(event): return event", event: `1`, files: map[string]string{"json.py": "boom", "asyncio.py": "boom", "inspect.py": "boom"}, want: `1`},
		"background thread": {
			source: "import threading, time\ndef handler(event):\n    threading.Thread(target=time.sleep, args=(60,)).start()\n    return 'returned'", want: `"returned"`,
		},
		"exit functions": {source: "import atexit\natexit.register(print, 'bye')\ndef handler(event): return 1", want: `1`, stdout: "bye\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := handler(tt.source, tt.event)
			req.Handler = tt.handler
			got := newSandbox(t, tt.files).run(t, req)
			if got.code != 0 || got.err != nil || string(got.result) != tt.want || got.stdout != tt.stdout || got.stderr != "" {
				t.Errorf("exit code %d, error %+v, result %s, stdout %q, stderr:\n%s\nwant result %s and stdout %q",
					got.code, got.err, got.result, got.stdout, got.stderr, tt.want, tt.stdout)
			}
		})
	}
}

func TestHandlerFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		source    string
		handler   string
		code      int
		errorType string
		message   string
		stack     []string
	}{
		"exception": {
			source: "def handler(event):\n    return event['missing']\n", code: 1, errorType: "KeyError", message: "'missing'",
			stack: []string{"  File \"main.py\", line 2, in handler\n    return event['missing']"},
		},
		"exception when loading": {
			source: "x = int('a')\ndef handler(event): pass", code: 1, errorType: "ValueError", message: "invalid literal for int() with base 10: 'a'",
			stack: []string{"  File \"main.py\", line 1, in <module>\n    x = int('a')"},
		},
		"exception in async": {
			source: "async def inner():\n    raise OSError('io')\nasync def handler(event):\n    await inner()", code: 1, errorType: "OSError", message: "io",
			stack: []string{"  File \"main.py\", line 4, in handler\n    await inner()", "  File \"main.py\", line 2, in inner\n    raise OSError('io')"},
		},
		"syntax":           {source: "def handler(event)\n    pass", code: 1, errorType: "SyntaxError"},
		"no arguments":     {source: "def handler(): pass", code: 1, errorType: "TypeError", message: "handler() takes 0 positional arguments but 1 was given"},
		"not found":        {source: "def other(e): pass\nimport os\nfrom os.path import join\nclass C: pass", code: 1, errorType: "HandlerNotFound", message: "main.py defines no function named handler; it defines other"},
		"nothing found":    {source: "", handler: "app.run", code: 1, errorType: "HandlerNotFound", message: "main.py defines no function named run; it defines no function at all"},
		"not a function":   {source: "handler = {}\ndef f(e): pass", code: 1, errorType: "HandlerNotFound", message: "main.py defines handler, but it is a dict and not a function; it defines f"},
		"set":              {source: "def handler(e): return {'items': [1, 2, 3, {4}]}", code: 1, errorType: "ResultNotSerializable", message: `result["items"][3] is a set, which JSON cannot hold; return a list: list(…)`},
		"bytes":            {source: "def handler(e): return b'x'", code: 1, errorType: "ResultNotSerializable", message: "result is a bytes, which JSON cannot hold; decode it, or encode it with base64"},
		"datetime":         {source: "import datetime\ndef handler(e): return {'t': datetime.datetime.now()}", code: 1, errorType: "ResultNotSerializable", message: `result["t"] is a datetime, which JSON cannot hold; use .isoformat()`},
		"object":           {source: "class User: pass\ndef handler(e): return [User()]", code: 1, errorType: "ResultNotSerializable", message: `result[0] is a User, which JSON cannot hold; return dict, list, str, int, float, bool or None`},
		"dataclass":        {source: "import dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int\ndef handler(e): return P(1)", code: 1, errorType: "ResultNotSerializable", message: "result is a P, which JSON cannot hold; use dataclasses.asdict(…)"},
		"generator":        {source: "def handler(e): yield 1", code: 1, errorType: "ResultNotSerializable", message: "result is a generator"},
		"not a number":     {source: "def handler(e): return [1.0, float('nan')]", code: 1, errorType: "ResultNotSerializable", message: "result[1] is nan; JSON has no such number"},
		"infinity":         {source: "def handler(e): return {'a': {'b': -float('inf')}}", code: 1, errorType: "ResultNotSerializable", message: `result["a"]["b"] is -inf; JSON has no such number`},
		"number as key":    {source: "def handler(e): return {'a': [{1: 2}]}", code: 1, errorType: "ResultNotSerializable", message: `result["a"][0] has the key 1, which is an int; JSON has string keys alone: use str(…)`},
		"tuple as key":     {source: "def handler(e): return {(1, 2): 3}", code: 1, errorType: "ResultNotSerializable", message: "result has the key (1, 2), which is a tuple"},
		"None as key":      {source: "def handler(e): return [{None: 3}]", code: 1, errorType: "ResultNotSerializable", message: "result[0] has the key None"},
		"cycle":            {source: "def handler(e):\n    a = {}\n    a['me'] = [a]\n    return a", code: 1, errorType: "ResultNotSerializable", message: `result["me"][0] refers back to a value that it is part of`},
		"too deep":         {source: "def handler(e):\n    a = []\n    for _ in range(900): a = [a]\n    return a", code: 1, errorType: "ResultNotSerializable", message: "the result is nested too deeply"},
		"too many digits":  {source: "def handler(e): return {'n': 10 ** 5000}", code: 1, errorType: "ResultNotSerializable", message: `result["n"] is an integer of more digits`},
		"repr of key":      {source: "class K:\n    def __repr__(self): 1 / 0\ndef handler(e): return {K(): 1}", code: 1, errorType: "ResultNotSerializable", message: "result has the key <K>, which is a K"},
		"exit":             {source: "import sys\ndef handler(e): sys.exit(3)", code: 3, errorType: "SystemExit", message: "the handler exited with code 3 instead of returning"},
		"exit 0":           {source: "raise SystemExit", code: 0, errorType: "SystemExit", message: "the handler exited with code 0 instead of returning"},
		"recursion":        {source: "def handler(e): return handler(e)", code: 1, errorType: "RecursionError", message: "maximum recursion depth"},
		"memory":           {source: "def handler(e): return bytearray(1 << 60)", code: 1, errorType: "MemoryError"},
		"interrupt":        {source: "def handler(e): raise KeyboardInterrupt", code: 130, errorType: "KeyboardInterrupt"},
		"attribute errors": {source: "class M:\n    def __getattr__(self, n): raise RuntimeError(n)\ndef handler(e): return M()", code: 1, errorType: "ResultNotSerializable", message: "result is a M"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := handler(tt.source, `{}`)
			req.Handler = tt.handler
			got := newSandbox(t, nil).run(t, req)
			if got.code != tt.code {
				t.Errorf("exit code %d, want %d", got.code, tt.code)
			}
			checkError(t, got, tt.errorType, tt.message, tt.stack)
			if tt.errorType != "SystemExit" && !strings.Contains(got.stderr, tt.errorType) {
				t.Errorf("stderr does not show the error:\n%s", got.stderr)
			}
			if strings.Contains(got.stderr, "harness.py") || strings.Contains(got.stderr, "asyncio/") {
				t.Errorf("stderr shows frames that are not the user's:\n%s", got.stderr)
			}
		})
	}
}

// TestHandlerResultSize checks both sides of the limit.
func TestHandlerResultSize(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, nil)
	for _, tt := range []struct {
		size    int
		tooMuch bool
	}{{yurt.MaxResultBytes, false}, {yurt.MaxResultBytes + 1, true}} {
		got := s.run(t, handler("def handler(n): return 'x' * (n - 2)", strconv.Itoa(tt.size)))
		if tt.tooMuch {
			checkError(t, got, "ResultTooLarge", "the result has 8388609 bytes of JSON; at most 8388608 are allowed", []string{})
		} else if got.err != nil || len(got.result) != tt.size {
			t.Errorf("%d bytes: got %d, error %+v", tt.size, len(got.result), got.err)
		}
	}
}

func TestHandlerExits(t *testing.T) {
	t.Parallel()
	got := newSandbox(t, nil).run(t, handler("import os\ndef handler(e): os._exit(9)", `{}`))
	if got.code != 9 || len(got.envelope) != 0 {
		t.Errorf("exit code %d, envelope %q; want 9 and none", got.code, got.envelope)
	}
}

// TestHandlerContext checks the attributes that AWS documents.
func TestHandlerContext(t *testing.T) {
	t.Parallel()
	const source = `
def handler(event, context):
    names = ["function_name", "function_version", "invoked_function_arn", "memory_limit_in_mb",
             "aws_request_id", "log_group_name", "log_stream_name", "client_context"]
    fields = {name: getattr(context, name) for name in names}
    fields["identity"] = context.identity.cognito_identity_id
    fields["remaining"] = context.get_remaining_time_in_millis()
    context.log("logged")
    repr(context)
    return fields
`
	got := newSandbox(t, nil).run(t, handler(source, `{}`))
	var fields map[string]any
	if err := json.Unmarshal(got.result, &fields); err != nil {
		t.Fatalf("result %s: %v; stderr:\n%s", got.result, err, got.stderr)
	}
	remaining, _ := fields["remaining"].(float64)
	if limit := float64(10 * time.Second / time.Millisecond); remaining > limit || remaining < limit-5000 {
		t.Errorf("%v ms remain of %v", remaining, limit)
	}
	delete(fields, "remaining")
	want := map[string]any{
		"function_name": "handler", "function_version": "$LATEST", "memory_limit_in_mb": 256.0, "aws_request_id": "exe_test",
		"invoked_function_arn": "arn:aws:lambda:us-east-1:000000000000:function:handler",
		"log_group_name":       "/aws/lambda/handler", "log_stream_name": "[$LATEST]exe_test", "client_context": nil, "identity": nil,
	}
	for name, value := range want {
		if fields[name] != value {
			t.Errorf("%s = %v, want %v", name, fields[name], value)
		}
	}
	if len(fields) != len(want) || got.stdout != "logged" {
		t.Errorf("fields %v, stdout %q", fields, got.stdout)
	}
}

func TestHandlerContextOverrides(t *testing.T) {
	t.Parallel()
	const source = `
def handler(event, context):
    c = context.client_context
    return [context.function_name, context.aws_request_id, context.tenant, c.client.app_title, c.client.installation_id,
            c.custom, c.env, context.identity.cognito_identity_id, context.identity.cognito_identity_pool_id]
`
	req := handler(source, `{}`)
	req.Context = []byte(`{"function_name":"billing","tenant":{"id":1},"identity":{"cognito_identity_id":"me"},` +
		`"client_context":{"client":{"app_title":"app"},"custom":{"k":"v"}}}`)
	got := newSandbox(t, nil).run(t, req)
	if want := `["billing","exe_test",{"id":1},"app",null,{"k":"v"},null,"me",null]`; string(got.result) != want {
		t.Errorf("result %s, want %s; stderr:\n%s", got.result, want, got.stderr)
	}
}

// TestHandlerDeadline runs out of time: the remaining time is never negative.
func TestHandlerDeadline(t *testing.T) {
	t.Parallel()
	req := handler("import time\ndef handler(e, c):\n    time.sleep(.05)\n    return c.get_remaining_time_in_millis()", `{}`)
	req.Timeout = yurt.Duration(20 * time.Millisecond)
	if got := newSandbox(t, nil).run(t, req); string(got.result) != "0" {
		t.Errorf("result %s, want 0", got.result)
	}
}

func BenchmarkHandler(b *testing.B) {
	s := newSandbox(b, nil)
	for b.Loop() {
		if got := s.run(b, handler("def handler(e, c): return e", `{"a":1}`)); string(got.result) != `{"a":1}` {
			b.Fatal(got)
		}
	}
}

// BenchmarkPlainPython is the base to compare BenchmarkHandler with.
func BenchmarkPlainPython(b *testing.B) {
	s := newSandbox(b, nil)
	for b.Loop() {
		s.start(b, plugins.Plan{Argv: []string{"/usr/bin/python3", "-c", "pass"}})
	}
}
