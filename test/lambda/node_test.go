package lambda

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

const awsLambdaRIC = "4.0.2"

const nodeApp = `
import fs from "node:fs"
let count = 0
export const handler = async (event, context) => {
  count += 1
  console.error("call " + count)
  if (event.do === "fail") throw new TypeError("no good")
  if (event.do === "exit") process.exit(3)
  return { count, event, id: context.awsRequestId.startsWith("exe_"), name: context.functionName }
}

export const live = awslambda.streamifyResponse(async (event, out, context) => {
  out.write("ö1")
  while (!fs.existsSync("/workspace/go-on")) await new Promise((resolve) => setTimeout(resolve, 5))
  if (event.do === "fail") throw new TypeError("half way")
  if (event.do === "exit") process.exit(3)
  out.end("2")
})

export const stream = awslambda.streamifyResponse(async (event, out, context) => {
  out.write("one ")
  if (event.do === "fail") throw new TypeError("half way")
  await new Promise((resolve) => setTimeout(resolve, 10))
  out.end("two")
})
`

// nodePackages returns a directory with the official client.
func nodePackages(t *testing.T) string {
	t.Helper()
	packages := cached(t, "aws-lambda-ric-"+awsLambdaRIC, func(dir string) {
		install := exec.CommandContext(t.Context(), "npm", "install", "--no-audit", "--no-fund", "--prefix", dir, "aws-lambda-ric@"+awsLambdaRIC)
		install.Env = append(os.Environ(), "MAKEFLAGS=-j4", "CMAKE_BUILD_PARALLEL_LEVEL=4") // it compiles curl
		if out, err := install.CombinedOutput(); err != nil {
			t.Fatalf("installing aws-lambda-ric, which scripts/deps test has the tools for: %v\n%.4000s", err, out)
		}
		// The sources that it was built from are many times as large.
		if err := os.RemoveAll(filepath.Join(dir, "node_modules", "aws-lambda-ric", "deps")); err != nil {
			t.Fatal(err)
		}
	})
	return filepath.Join(packages, "node_modules", "aws-lambda-ric")
}

// nodeClient is where a sandbox has the official client.
const nodeClient = "/workspace/node_modules/aws-lambda-ric"

// nodeFunction returns a function of the official client, and the sandbox that has it.
func nodeFunction(t *testing.T, handler string) (*sandbox, function) {
	t.Helper()
	testutil.NeedsSandboxes(t)
	s := newSandbox(t)
	s.upload(t, nodePackages(t), nodeClient)
	return s, function{
		command: []string{"/usr/bin/node", nodeClient + "/index.mjs", handler}, handler: handler,
		files: map[string]string{"index.mjs": nodeApp},
	}
}

func TestNodeClient(t *testing.T) {
	t.Parallel()
	s, f := nodeFunction(t, "index.handler")
	for _, want := range []string{`{"count":1,"event":{"a":1},"id":true,"name":"handler"}`, `{"count":2,"event":{"a":1},"id":true,"name":"handler"}`} {
		r := s.invoke(t, f, `{"a":1}`)
		if string(r.Result) != want || !strings.Contains(r.Stdout+r.Stderr, "call ") {
			t.Fatalf("result %s, want %s; error %+v, stdout %q, stderr %q", r.Result, want, r.Error, r.Stdout, r.Stderr)
		}
	}
	r := s.wantError(t, f, `{"do":"fail"}`, "TypeError")
	if r.Error.Message != "no good" || !strings.Contains(strings.Join(r.Error.Stacktrace, "\n"), "index.mjs") || r.StateLost {
		t.Errorf("%+v, state lost: %t", r.Error, r.StateLost)
	}
	if r := s.wantError(t, f, `{"do":"exit"}`, "Runtime.ExitError"); r.ExitCode != 3 || !r.StateLost {
		t.Errorf("exit code %d, state lost: %t", r.ExitCode, r.StateLost)
	}
	if r := s.invoke(t, f, `{}`); !strings.HasPrefix(string(r.Result), `{"count":1,`) || !r.KernelRestarted {
		t.Errorf("result %s, restarted: %t", r.Result, r.KernelRestarted)
	}
}

func TestNodeClientStreams(t *testing.T) {
	t.Parallel()
	s, f := nodeFunction(t, "index.stream")
	for range 2 {
		if r := s.invoke(t, f, `{}`); string(r.Result) != `"one two"` || r.Error != nil {
			t.Fatalf("result %s, error %+v, stdout %q, stderr %q", r.Result, r.Error, r.Stdout, r.Stderr)
		}
	}
	if r := s.wantError(t, f, `{"do":"fail"}`, "TypeError"); r.Error.Message != "half way" {
		t.Errorf("%+v", r.Error)
	}
	if r := s.invoke(t, f, `{}`); string(r.Result) != `"one two"` {
		t.Errorf("after that: result %s, error %+v", r.Result, r.Error)
	}
}

// TestNodeClientStreamsLive has a function wait, between two pieces of its response, for a step
// that the test takes once it has received the first.
func TestNodeClientStreamsLive(t *testing.T) {
	t.Parallel()
	s, f := nodeFunction(t, "index.live")
	for _, tt := range []struct{ event, pieces, result, kind string }{
		{`{}`, "ö1|2", `"ö12"`, ""},
		{`{"do":"fail"}`, "ö1", "null", "TypeError"},
		{`{}`, "ö1|2", `"ö12"`, ""},
		{`{"do":"exit"}`, "ö1", "null", "Runtime.ExitError"},
	} {
		pieces, r := s.watch(t, f, tt.event)
		kind := ""
		if r.Error != nil {
			kind = r.Error.Type
		}
		if got := strings.Join(pieces, "|"); got != tt.pieces || string(r.Result) != tt.result || kind != tt.kind {
			t.Errorf("%s: pieces %q, result %s, error %+v; want %+v (stderr %q)", tt.event, got, r.Result, r.Error, tt, r.Stderr)
		}
	}
}

func TestNodeClientInitError(t *testing.T) {
	t.Parallel()
	s, f := nodeFunction(t, "index.missing")
	s.wantError(t, f, `{}`, "Runtime.HandlerNotFound")
}
