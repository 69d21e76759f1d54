package lambda

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

// numbered is one of several handlers that count their invocations.
func numbered(number int, event string) yurt.ExecutionSpec {
	return warm("python", fmt.Sprintf("%s\n# number %d", warmPython, number), event)
}

// wantCount invokes a handler for the nth time.
func (s *sandbox) wantCount(t *testing.T, spec yurt.ExecutionSpec, n int) {
	t.Helper()
	if r := s.wantWarm(t, spec, fmt.Sprint(n), fmt.Sprintf("call %d\n", n)); r.KernelRestarted || r.StateLost {
		t.Errorf("restarted: %t, state lost: %t", r.KernelRestarted, r.StateLost)
	}
}

// TestHandlersTakeTurns invokes as many handlers in turns as stay warm in a session, and then
// one more: it takes the place of the one that was invoked the longest ago.
func TestHandlersTakeTurns(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	s := newSandbox(t)
	for n := 1; n <= 3; n++ {
		for number := range 4 {
			s.wantCount(t, numbered(number, `{}`), n)
		}
	}
	s.wantCount(t, numbered(1, `{}`), 4)
	s.wantCount(t, numbered(4, `{}`), 1) // in place of 0
	s.wantCount(t, numbered(1, `{}`), 5)
	s.wantCount(t, numbered(0, `{}`), 1) // in place of 2
	s.wantCount(t, numbered(3, `{}`), 4)
	s.wantCount(t, numbered(4, `{}`), 2)
	contexts, err := s.e.Contexts(t.Context(), s.id)
	if err != nil || len(contexts) != 4 {
		t.Errorf("contexts %+v, %v", contexts, err)
	}
	testutil.Eventually(t, "the processes of the others are gone", func() bool {
		processes, err := s.e.Processes(t.Context(), s.id)
		return err == nil && len(processes) == 4
	})
}

// TestBusyHandlersStay has all that may stay warm run: another one is not kept.
func TestBusyHandlersStay(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	e := testutil.Executor(t)
	spec := testutil.Spec()
	spec.Resources.Memory = 128 << 20 // room for one
	made, err := e.CreateSandbox(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	s := &sandbox{e, made.ID}
	s.wantCount(t, numbered(0, `{}`), 1)
	s.wantCount(t, numbered(1, `{}`), 1)
	waiting := numbered(0, `{"do":"wait"}`)
	if err := e.StartExecution(t.Context(), s.id, waiting); err != nil {
		t.Fatal(err)
	}
	testutil.Eventually(t, "the handler runs", func() bool {
		_, err := e.StatFile(t.Context(), s.id, "/workspace/begun")
		return err == nil
	})
	for range 2 {
		s.wantCount(t, numbered(1, `{}`), 1)
	}
	if _, err := e.WriteFile(t.Context(), s.id, goOn, strings.NewReader(""), yurt.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if r, err := e.WaitExecution(t.Context(), s.id, waiting.ID); err != nil || string(r.Result) != "1" {
		t.Errorf("%+v, %v", r, err)
	}
	s.wantCount(t, numbered(0, `{}`), 2)
}

const warmTypeScript = `
interface Event { do?: string }
let count: number = 0
export const handler = async (event: Event, context: any): Promise<unknown> => {
  count += 1
  console.log("call " + count)
  if (event.do === "fail") throw new TypeError("no good")
  if (event.do === "exit") process.exit(3)
  if (event.do === "loop") for (;;);
  if (event.do === "request") return [context.awsRequestId, context.functionName]
  return count
}
`

// TestTypeScriptHandlersStayWarm compiles a handler once.
func TestTypeScriptHandlersStayWarm(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	s := newSandbox(t, "typescript")
	call := func(event string) yurt.ExecutionSpec { return warm("typescript", warmTypeScript, event) }
	s.wantCount(t, call(`{}`), 1)
	spec := call(`{"do":"request"}`)
	s.wantWarm(t, spec, `["`+spec.ID+`","handler"]`, "call 2\n")
	r := s.run(t, call(`{"do":"fail"}`))
	if r.Error == nil || r.Error.Type != "TypeError" || r.Error.Message != "no good" || r.StateLost || !strings.Contains(strings.Join(r.Error.Stacktrace, "\n"), "main.ts:7") {
		t.Errorf("%+v, state lost: %t, stderr %q", r.Error, r.StateLost, r.Stderr)
	}
	s.wantCount(t, call(`{}`), 4)
	for event, kind := range map[string]string{`{"do":"exit"}`: "ProcessExit", `{"do":"loop"}`: yurt.ErrorTypeTimeout} {
		spec := call(event)
		if kind == yurt.ErrorTypeTimeout {
			spec.Timeout = yurt.Duration(2 * time.Second)
		}
		if r := s.run(t, spec); r.Error == nil || r.Error.Type != kind || !r.StateLost {
			t.Errorf("%s: %+v, state lost: %t, stderr %q", event, r.Error, r.StateLost, r.Stderr)
		}
		if r := s.wantWarm(t, call(`{}`), "1", "call 1\n"); !r.KernelRestarted {
			t.Errorf("%s: the next is not told that its process is another", event)
		}
	}
	s.wantCount(t, warm("typescript", warmTypeScript+"// changed", `{}`), 1)
	project := warm("typescript", "", `{}`)
	project.Entry = "src/app.ts"
	project.Files = []yurt.SourceFile{
		{Path: "src/app.ts", Data: []byte("import { next } from './lib'\nexport const handler = (): number => next()")},
		{Path: "src/lib.ts", Data: []byte("let n = 0\nexport const next = (): number => ++n")},
	}
	s.wantWarm(t, project, "1", "")
	project.ID = yurt.NewExecutionID()
	s.wantWarm(t, project, "2", "")
	left, err := s.e.Contexts(t.Context(), s.id)
	if err != nil || len(left) != 3 || !strings.HasPrefix(left[0].Name, "handler-typescript-") {
		t.Errorf("contexts %+v, %v", left, err)
	}
}

// TestTypeScriptHandlersThatDoNotLoad: the error of a handler is reported, each time.
func TestTypeScriptHandlersThatDoNotLoad(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	s := newSandbox(t, "typescript")
	for range 2 {
		for code, want := range map[string]struct{ kind, message string }{
			"let a: = 1":                              {yurt.ErrorTypeCompile, `main.ts:1:8: Unexpected "="`},
			"import './none'":                         {yurt.ErrorTypeCompile, `main.ts:1:8: Could not resolve "./none"`},
			"throw new URIError('at load')":           {"URIError", "at load"},
			"export const other = (): number => 1":    {yurt.ErrorTypeHandlerNotFound, "other"},
			"export const handler = (): bigint => 1n": {yurt.ErrorTypeNotSerializable, "BigInt"},
		} {
			r := s.run(t, warm("typescript", code, `{}`))
			if r.Error == nil || r.Error.Type != want.kind || !strings.Contains(r.Error.Message, want.message) || r.ExitCode != 1 {
				t.Errorf("%s: %+v, exit code %d, want %+v; stderr %q", code, r.Error, r.ExitCode, want, r.Stderr)
			}
			if want.kind == yurt.ErrorTypeCompile && !strings.Contains(r.Stderr, "[ERROR]") {
				t.Errorf("%s: what the compiler says is not in stderr: %q", code, r.Stderr)
			}
		}
	}
	testutil.Eventually(t, "the processes of those that did not load are gone", func() bool {
		processes, err := s.e.Processes(t.Context(), s.id)
		return err == nil && len(processes) == 1
	})
}
