package api_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/rig"
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
	if again, err := client.WaitExecution(t.Context(), sandbox.ID, spec.ID); err != nil || !cmp.Equal(again, result) {
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
	if result, err := client.WaitExecution(t.Context(), sandbox.ID, spec.ID); err != nil || result.Stdout != "done\n" {
		t.Errorf("the result is %+v, %v", result, err)
	}
}

// TestRunExecutionOutlivesItsConnection: the next executor has the result, of a program
// that ran once.
func TestRunExecutionOutlivesItsConnection(t *testing.T) {
	rig.NeedsSandboxes(t)
	config := rig.Config(t, rig.Build(t))
	socket := filepath.Join(t.TempDir(), "sock")
	first := rig.Open(t, config)
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
	serveAt(t, rig.Start(t, config), socket)
	if result, err := client.WaitExecution(t.Context(), sandbox.ID, spec.ID); err != nil || result.Stdout != "ran\n" {
		t.Errorf("the result is %+v, %v", result, err)
	}
}
