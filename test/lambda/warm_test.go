package lambda

import (
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

const warmPython = `
import asyncio, os, sys, time
count = 0

def handler(event, context):
    global count
    count += 1
    print("call", count)
    do = event.get("do")
    if do == "fail": raise ValueError("no good")
    if do == "exit": sys.exit(3)
    if do == "die": os._exit(7)
    if do == "sleep": time.sleep(1000)
    if do == "close": os.closerange(3, 64); open("/workspace/a", "w"); open("/workspace/b", "w")
    if do == "fork" and os.fork() == 0: return "child"
    if do == "set": return {1, 2}
    if do == "large": return "a" * (7 << 20)
    if do == "env": return os.environ.get("V")
    if do == "request": return [context.aws_request_id, 0 < context.get_remaining_time_in_millis() <= 60000, context.function_name]
    if do == "wait":
        open("/workspace/begun", "w").close()
        while not os.path.exists("/workspace/go-on"): time.sleep(0.005)
    return count
`

// warm is the invocation of a handler in code, in a session that keeps state.
func warm(language, code, event string) yurt.ExecutionSpec {
	spec := function{handler: "handler", timeout: time.Minute}.invocation(event)
	spec.Language, spec.Code, spec.ContextOptional = language, code, true
	return spec
}

// wantWarm invokes a handler in code, that has to return this and to print that.
func (s *sandbox) wantWarm(t *testing.T, spec yurt.ExecutionSpec, result, stdout string) *yurt.Result {
	t.Helper()
	r := s.run(t, spec)
	if r.Error != nil || r.ExitCode != 0 || string(r.Result) != result || r.Stdout != stdout {
		t.Fatalf("%s: result %s, want %s; stdout %q, want %q (exit code %d, error %+v, stderr %q)", spec.Event, r.Result, result, r.Stdout, stdout, r.ExitCode, r.Error, r.Stderr)
	}
	return r
}

// TestHandlersStayWarm has state last from one invocation of a handler in code to the next.
// Where its code or its environment is another, it is another handler.
func TestHandlersStayWarm(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	s := newSandbox(t)
	call := func(event string) yurt.ExecutionSpec { return warm("python", warmPython, event) }
	s.wantWarm(t, call(` {} `), "1", "call 1\n")
	s.wantWarm(t, call(""), "2", "call 2\n")
	spec := call(`{"do":"request"}`)
	s.wantWarm(t, spec, `["`+spec.ID+`",true,"handler"]`, "call 3\n")
	for _, tt := range []struct{ event, kind, message string }{
		{`{"do":"fail"}`, "ValueError", "no good"},
		{`{"do":"set"}`, yurt.ErrorTypeNotSerializable, "set"},
		{`{"do":"large"}`, "Function.ResponseSizeTooLarge", "bytes"},
	} {
		r := s.run(t, call(tt.event))
		if r.Error == nil || r.Error.Type != tt.kind || !strings.Contains(r.Error.Message, tt.message) || r.StateLost || r.ExitCode != 1 {
			t.Errorf("%s: %+v, exit code %d, state lost: %t", tt.event, r.Error, r.ExitCode, r.StateLost)
		}
	}
	s.wantWarm(t, call(`{"do":"close"}`), "7", "call 7\n")
	s.wantWarm(t, call(`{}`), "8", "call 8\n")

	other := call(`{"do":"env"}`)
	other.Env = map[string]string{"V": "1"}
	s.wantWarm(t, other, `"1"`, "call 1\n")
	s.wantWarm(t, call(`{}`), "9", "call 9\n")
	s.wantWarm(t, warm("python", warmPython+"\n# changed", `{}`), "1", "call 1\n")
	without := call(`{}`)
	without.ContextOptional = false
	for range 2 {
		s.wantWarm(t, without, "1", "call 1\n")
		without.ID = yurt.NewExecutionID()
	}
}

// TestWarmHandlersEnd has the process of a handler end in the middle of invocations: the next
// has a fresh one and says so.
func TestWarmHandlersEnd(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	s := newSandbox(t)
	call := func(event string) yurt.ExecutionSpec { return warm("python", warmPython, event) }
	s.wantWarm(t, call(`{"do":"fork"}`), "1", "call 1\n")
	s.wantWarm(t, call(`{}`), "2", "call 2\n")
	for _, tt := range []struct{ event, kind string }{
		{`{"do":"exit"}`, "SystemExit"}, {`{"do":"die"}`, "Runtime.ExitError"}, {`{"do":"sleep"}`, yurt.ErrorTypeTimeout},
	} {
		spec := call(tt.event)
		spec.Timeout = yurt.Duration(20 * time.Second)
		if strings.Contains(tt.event, "sleep") {
			spec.Timeout = yurt.Duration(2 * time.Second)
		}
		if r := s.run(t, spec); r.Error == nil || r.Error.Type != tt.kind || !r.StateLost || !strings.HasPrefix(r.Stdout, "call ") {
			t.Errorf("%s: %+v, state lost: %t, stdout %q", tt.event, r.Error, r.StateLost, r.Stdout)
		}
		if r := s.wantWarm(t, call(`{}`), "1", "call 1\n"); !r.KernelRestarted {
			t.Errorf("%s: the next is not told that its process is another", tt.event)
		}
	}
	for range 2 {
		if r := s.run(t, warm("python", "def handler(e): return 1\nraise OSError('at load')", `{}`)); r.Error == nil || r.Error.Type != "OSError" || len(r.Error.Stacktrace) == 0 {
			t.Errorf("a handler that fails to load: %+v, stderr %q", r.Error, r.Stderr)
		}
		if r := s.run(t, warm("python", "def handler(e) return 1", `{}`)); r.Error == nil || r.Error.Type != yurt.ErrorTypeSyntax {
			t.Errorf("a handler with a syntax error: %+v", r.Error)
		}
		if r := s.run(t, warm("python", "def other(e): return 1", `{}`)); r.Error == nil || r.Error.Type != yurt.ErrorTypeHandlerNotFound {
			t.Errorf("a handler that is not there: %+v", r.Error)
		}
	}
}

// TestWarmHandlersRunSideBySide invokes a handler while an invocation of it runs.
func TestWarmHandlersRunSideBySide(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	s := newSandbox(t)
	waiting := warm("python", warmPython, `{"do":"wait"}`)
	if err := s.e.StartExecution(t.Context(), s.id, waiting); err != nil {
		t.Fatal(err)
	}
	testutil.Eventually(t, "the handler runs", func() bool {
		_, err := s.e.StatFile(t.Context(), s.id, "/workspace/begun")
		return err == nil
	})
	s.wantWarm(t, warm("python", warmPython, `{}`), "1", "call 1\n")
	s.wantWarm(t, warm("python", warmPython+"#", `{}`), "1", "call 1\n")
	if _, err := s.e.WriteFile(t.Context(), s.id, "/workspace/go-on", strings.NewReader(""), yurt.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if r, err := s.e.WaitExecution(t.Context(), s.id, waiting.ID); err != nil || string(r.Result) != "1" {
		t.Errorf("%+v, %v", r, err)
	}
	s.wantWarm(t, warm("python", warmPython, `{}`), "2", "call 2\n")
	contexts, err := s.e.Contexts(t.Context(), s.id)
	if err != nil || len(contexts) != 2 {
		t.Fatalf("contexts %+v, %v", contexts, err)
	}
	for _, c := range contexts {
		if !strings.HasPrefix(c.Name, "handler-python-") || c.Language != "lambda" {
			t.Errorf("context %+v", c)
		}
		if err := s.e.RestartContext(t.Context(), s.id, c.Name, ""); err != nil {
			t.Fatal(err)
		}
	}
	if r := s.wantWarm(t, warm("python", warmPython, `{}`), "1", "call 1\n"); !r.KernelRestarted {
		t.Error("the invocation after a restart is not told of it")
	}
}

const warmNode = `
const fs = require("fs")
let count = 0
exports.handler = async (event, context) => {
  count += 1
  console.log("call " + count)
  switch (event.do) {
    case "fail": throw new TypeError("no good")
    case "exit": process.exit(3)
    case "throw": setImmediate(() => { throw new RangeError("later") }); return new Promise((resolve) => setTimeout(resolve, 10000))
    case "never": return new Promise(() => {})
    case "large": return "a".repeat(7 << 20)
    case "loop": for (;;);
    case "request": return [context.awsRequestId, context.getRemainingTimeInMillis() > 0 && context.getRemainingTimeInMillis() <= 60000, context.functionName]
  }
  return count
}
`

// TestNodeHandlersStayWarm repeats the tests above, in JavaScript.
func TestNodeHandlersStayWarm(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	s := newSandbox(t, "javascript")
	call := func(event string) yurt.ExecutionSpec { return warm("javascript", warmNode, event) }
	s.wantWarm(t, call(` {} `), "1", "call 1\n")
	spec := call(`{"do":"request"}`)
	s.wantWarm(t, spec, `["`+spec.ID+`",true,"handler"]`, "call 2\n")
	for _, tt := range []struct{ event, kind, message string }{
		{`{"do":"fail"}`, "TypeError", "no good"}, {`{"do":"large"}`, "Function.ResponseSizeTooLarge", "bytes"},
	} {
		if r := s.run(t, call(tt.event)); r.Error == nil || r.Error.Type != tt.kind || !strings.Contains(r.Error.Message, tt.message) || r.StateLost {
			t.Errorf("%s: %+v, state lost: %t, stderr %q", tt.event, r.Error, r.StateLost, r.Stderr)
		}
	}
	s.wantWarm(t, call(""), "5", "call 5\n")
	for _, tt := range []struct{ event, kind, message string }{
		{`{"do":"exit"}`, "ProcessExit", "code 3"},
		{`{"do":"throw"}`, "RangeError", "later"},
		{`{"do":"never"}`, "HandlerNotFinished", "neither"},
		{`{"do":"loop"}`, yurt.ErrorTypeTimeout, ""},
	} {
		spec := call(tt.event)
		if tt.kind == yurt.ErrorTypeTimeout {
			spec.Timeout = yurt.Duration(2 * time.Second)
		}
		if r := s.run(t, spec); r.Error == nil || r.Error.Type != tt.kind || !strings.Contains(r.Error.Message, tt.message) || !r.StateLost || !strings.HasPrefix(r.Stdout, "call ") {
			t.Errorf("%s: %+v, state lost: %t, stdout %q, stderr %q", tt.event, r.Error, r.StateLost, r.Stdout, r.Stderr)
		}
		if r := s.wantWarm(t, call(`{}`), "1", "call 1\n"); !r.KernelRestarted {
			t.Errorf("%s: the next is not told that its process is another", tt.event)
		}
	}
	s.wantWarm(t, warm("javascript", warmNode+"// changed", `{}`), "1", "call 1\n")
	module := warm("javascript", "let n = 0\nexport const handler = () => ++n", `{}`)
	s.wantWarm(t, module, "1", "")
	module.ID = yurt.NewExecutionID()
	s.wantWarm(t, module, "2", "")
	for code, kind := range map[string]string{
		"throw new URIError('at load')": "URIError", "exports.other = () => 1": yurt.ErrorTypeHandlerNotFound,
		"exports.handler = (": yurt.ErrorTypeSyntax, "export const handler = (": yurt.ErrorTypeSyntax, "import a from './none.mjs'\nexport const handler = () => a": "Error",
	} {
		if r := s.run(t, warm("javascript", code, `{}`)); r.Error == nil || r.Error.Type != kind {
			t.Errorf("%s: %+v, want %s; stderr %q", code, r.Error, kind, r.Stderr)
		}
	}
}
