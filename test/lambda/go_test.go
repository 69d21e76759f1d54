package lambda

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

const awsLambdaGo = "v1.49.0"

const goApp = `package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

var count int

func handle(ctx context.Context, event map[string]string) (map[string]any, error) {
	count++
	fmt.Println("call", count)
	switch event["do"] {
	case "fail":
		return nil, errors.New("no good")
	case "panic":
		panic("at the disco")
	case "exit":
		os.Exit(3)
	}
	lc, _ := lambdacontext.FromContext(ctx)
	_, limited := ctx.Deadline()
	return map[string]any{"count": count, "limited": limited, "id": lc.AwsRequestID[:4], "name": lambdacontext.FunctionName}, nil
}

// stream is the response of a function that streams: the event says how it ends.
type stream struct {
	begun bool
	do    string
}

func (s *stream) Read(p []byte) (int, error) {
	if !s.begun {
		s.begun = true
		return copy(p, "one"), nil
	}
	for {
		if _, err := os.Stat("/workspace/go-on"); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if s.do == "fail" {
		return 0, errors.New("half way")
	}
	return copy(p, "two"), io.EOF
}

func handleStream(event map[string]string) (io.Reader, error) { return &stream{do: event["do"]}, nil }

func main() {
	if os.Getenv("_HANDLER") == "stream" {
		lambda.Start(handleStream)
	}
	lambda.Start(handle)
}
`

// goBuilt returns a directory with a compiled function.
func goBuilt(t *testing.T) string {
	t.Helper()
	return cached(t, "aws-lambda-go-streams-"+awsLambdaGo, func(dir string) {
		source := t.TempDir()
		if err := os.WriteFile(filepath.Join(source, "main.go"), []byte(goApp), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"mod", "init", "example.com/bootstrap"},
			{"get", "github.com/aws/aws-lambda-go@" + awsLambdaGo},
			{"build", "-o", filepath.Join(dir, "bootstrap"), "."},
		} {
			run := exec.CommandContext(t.Context(), "go", args...)
			run.Dir, run.Env = source, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
			if out, err := run.CombinedOutput(); err != nil {
				t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
			}
		}
	})
}

// goFunction returns the compiled function, and the sandbox that has it.
func goFunction(t *testing.T) (*sandbox, function) {
	t.Helper()
	testutil.NeedsSandboxes(t)
	s := newSandbox(t)
	s.upload(t, goBuilt(t), "/workspace")
	return s, function{command: []string{"./bootstrap"}, handler: "bootstrap"}
}

func TestGoClient(t *testing.T) {
	t.Parallel()
	s, f := goFunction(t)
	s.want(t, f, `{}`, `{"count":1,"id":"exe_","limited":true,"name":"bootstrap"}`, "call 1\n")
	s.want(t, f, `{}`, `{"count":2,"id":"exe_","limited":true,"name":"bootstrap"}`, "call 2\n")
	if r := s.wantError(t, f, `{"do":"fail"}`, "errorString"); r.Error.Message != "no good" || r.StateLost {
		t.Errorf("%+v, state lost: %t", r.Error, r.StateLost)
	}
	s.want(t, f, `{}`, `{"count":4,"id":"exe_","limited":true,"name":"bootstrap"}`, "call 4\n")
	if r := s.wantError(t, f, `{"do":"panic"}`, "string"); r.Error.Message != "at the disco" || !strings.Contains(strings.Join(r.Error.Stacktrace, "\n"), "main.go") {
		t.Errorf("%+v", r.Error)
	}
	s.wantError(t, f, `{"do":"exit"}`, "Runtime.ExitError")
	if r := s.want(t, f, `{}`, `{"count":1,"id":"exe_","limited":true,"name":"bootstrap"}`, "call 1\n"); !r.KernelRestarted {
		t.Error("the invocation after the end of the process is not told that it is another")
	}
}

func TestGoClientStreamsLive(t *testing.T) {
	t.Parallel()
	s, f := goFunction(t)
	f.handler = "stream"
	pieces, r := s.watch(t, f, `{}`)
	if got := strings.Join(pieces, "|"); got != "one|two" || string(r.Result) != `"onetwo"` || r.Error != nil {
		t.Errorf("pieces %q, result %s, error %+v, stderr %q", got, r.Result, r.Error, r.Stderr)
	}
	pieces, r = s.watch(t, f, `{"do":"fail"}`)
	if len(pieces) == 0 || pieces[0] != "one" || r.Error == nil || r.Error.Message != "half way" {
		t.Errorf("pieces %q, error %+v, stderr %q", pieces, r.Error, r.Stderr)
	}
}
