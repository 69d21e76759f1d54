package lambda

import (
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/testutil"
)

// plainClient is a runtime client that says which process it is.
const plainClient = `
import http.client, json, os, time
api = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
root = "/2018-06-01/runtime/invocation/"
while True:
    api.request("GET", root + "next")
    response = api.getresponse()
    event = json.loads(response.read())
    if event.get("do") == "wait":
        open("/workspace/begun", "w").close()
        time.sleep(1000)
    api.request("POST", root + response.headers["Lambda-Runtime-Aws-Request-Id"] + "/response", str(os.getpid()))
    api.getresponse().read()
`

// next returns an executor that the test has to close.
func next(t *testing.T, config executor.Config) *executor.Executor {
	t.Helper()
	e := testutil.Open(t, config)
	return e
}

// TestFunctionEndsWithItsExecutor has an executor leave while a function runs: the next one ends
// its process, says so, and goes on with the waiting invocations.
func TestFunctionEndsWithItsExecutor(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	first := next(t, config)
	created, err := first.CreateSandbox(t.Context(), testutil.Spec())
	if err != nil {
		t.Fatal(err)
	}
	f := function{command: []string{"/usr/bin/python3", "-c", plainClient}, handler: "handler"}
	running, waiting := f.invocation(`{"do":"wait"}`), f.invocation(`{}`)
	for _, spec := range []yurt.ExecutionSpec{running, waiting} {
		if err := first.StartExecution(t.Context(), created.ID, spec); err != nil {
			t.Fatal(err)
		}
	}
	testutil.Eventually(t, "the function runs", func() bool {
		_, err := first.StatFile(t.Context(), created.ID, "/workspace/begun")
		return err == nil
	})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	s := &sandbox{next(t, config), created.ID}
	r, err := s.e.WaitExecution(t.Context(), s.id, running.ID)
	if err != nil {
		t.Fatal(err)
	}
	if r.Error == nil || r.Error.Type != "Runtime.ExitError" || !r.StateLost {
		t.Errorf("the invocation that was under way: %+v", r)
	}
	if r, err = s.e.WaitExecution(t.Context(), s.id, waiting.ID); err != nil {
		t.Fatal(err)
	}
	if r.Error != nil || !r.KernelRestarted {
		t.Errorf("the invocation that waited: %+v", r)
	}
	if again := s.invoke(t, f, `{}`); string(again.Result) != string(r.Result) {
		t.Errorf("served by process %s, and then by %s", r.Result, again.Result)
	}
	// No invocation was under way when this executor left: the next invocation says so.
	if err := s.e.Close(); err != nil {
		t.Fatal(err)
	}
	s.e = testutil.Start(t, config)
	if r := s.invoke(t, f, `{}`); !r.KernelRestarted || r.Error != nil {
		t.Errorf("the first invocation after another restart: %+v", r)
	}
	if r := s.invoke(t, f, `{}`); r.KernelRestarted {
		t.Errorf("told twice: %+v", r)
	}
	processes, err := s.e.Processes(t.Context(), s.id)
	if err != nil {
		t.Fatal(err)
	}
	clients := 0
	for _, p := range processes {
		if strings.Contains(p.Name, "python") {
			clients++
		}
	}
	if clients != 1 {
		t.Errorf("%d clients run, want 1: %+v", clients, processes)
	}
}
