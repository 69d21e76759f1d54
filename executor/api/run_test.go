package api_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

func TestRunExecution(t *testing.T) {
	client, _ := node(t)
	sandbox := create(t, client)
	spec := command("echo out; exit 3")
	wait, err := client.RunExecution(t.Context(), sandbox.ID, spec)
	if err != nil {
		t.Fatal(err)
	}
	result, err := wait(t.Context())
	if err != nil || result.Stdout != "out\n" || result.ExitCode != 3 {
		t.Errorf("the result is %+v, %v", result, err)
	}
	if again, err := client.AwaitExecution(t.Context(), sandbox.ID, spec.ID); err != nil || !cmp.Equal(again, result) {
		t.Errorf("waited for, it is %+v, %v", again, err)
	}
	for what, refused := range map[string]struct {
		sandbox string
		spec    yurt.ExecutionSpec
	}{"an execution that is there": {sandbox.ID, spec}, "a sandbox that is not": {"sbx_none", command("true")}} {
		_, got := client.RunExecution(t.Context(), refused.sandbox, refused.spec)
		want := client.StartExecution(t.Context(), refused.sandbox, refused.spec)
		if want == nil || yurt.CodeOf(got) != yurt.CodeOf(want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
}

// TestRunExecutionOfOneWhoLeaves: the execution goes on.
func TestRunExecutionOfOneWhoLeaves(t *testing.T) {
	client, _ := node(t)
	sandbox := create(t, client)
	spec := command("sleep 0.3; echo done")
	started, cancel := context.WithCancel(t.Context())
	wait, err := client.RunExecution(started, sandbox.ID, spec)
	if err != nil {
		t.Fatal(err)
	}
	cancel() // which was for the start alone
	waiting, leave := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer leave()
	if _, err := wait(waiting); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who left was told %v", err)
	}
	if result, err := client.AwaitExecution(t.Context(), sandbox.ID, spec.ID); err != nil || result.Stdout != "done\n" {
		t.Errorf("the result is %+v, %v", result, err)
	}
}

// TestRunExecutionOutlivesItsConnection: the next executor has the result, of a program
// that ran once.
func TestRunExecutionOutlivesItsConnection(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	socket := filepath.Join(t.TempDir(), "sock")
	first := testutil.Open(t, config)
	stop := serveAt(t, first, socket)
	client := dial(t, socket)
	sandbox := create(t, client)
	spec := command("echo ran >>times; sleep 0.5; cat times")
	wait, err := client.RunExecution(t.Context(), sandbox.ID, spec)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if _, err := wait(t.Context()); yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("when the executor stops, the answer is %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	serveAt(t, testutil.Start(t, config), socket)
	if result, err := client.AwaitExecution(t.Context(), sandbox.ID, spec.ID); err != nil || result.Stdout != "ran\n" {
		t.Errorf("the result is %+v, %v", result, err)
	}
}

// TestLargeOutput: output that is large does not come with the result, but when it is read, and all of it.
func TestLargeOutput(t *testing.T) {
	client, _ := node(t)
	sandbox := create(t, client)
	spec := command("head -c 3000000 /dev/zero; head -c 100000 /dev/zero | tr '\\0' e >&2")
	wait, err := client.RunExecution(t.Context(), sandbox.ID, spec)
	if err != nil {
		t.Fatal(err)
	}
	result, err := wait(t.Context())
	if err != nil || result.Stdout != "" || result.OutputBytes(yurt.EventStdout) != 3_000_000 || result.OutputBytes(yurt.EventStderr) != 100_000 {
		t.Fatalf("the result has %d bytes in it and says %d and %d, %v", len(result.Stdout), result.OutputBytes(yurt.EventStdout), result.OutputBytes(yurt.EventStderr), err)
	}
	if whole, err := result.Whole(t.Context()); err != nil || whole.Stdout != strings.Repeat("\x00", 3_000_000) || whole.Stderr != strings.Repeat("e", 100_000) {
		t.Errorf("as a whole it has %d and %d bytes, %v", len(whole.Stdout), len(whole.Stderr), err)
	}
	source, err := result.OpenOutput(t.Context(), yurt.EventStdout, 2_999_990)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	if end, err := io.ReadAll(source); err != nil || len(end) != 10 {
		t.Errorf("its end has %d bytes, %v; want 10", len(end), err)
	}
	if source, err = result.OpenOutput(t.Context(), yurt.EventStarted, 0); err == nil {
		_, err = io.ReadAll(source)
	}
	if yurt.CodeOf(err) != yurt.CodeInvalidArgument {
		t.Errorf("a stream that is none: %v", err)
	}
}
