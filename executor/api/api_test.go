package api_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

func TestLifeOfASandbox(t *testing.T) {
	client, e := node(t)
	sandbox := create(t, client)
	list, err := client.Sandboxes(t.Context())
	if direct, _ := e.Sandboxes(t.Context()); err != nil || !cmp.Equal(list, direct) || len(list) != 1 {
		t.Errorf("the list is %+v, %v, want %+v", list, err, direct)
	}
	spec := command("echo out; echo err >&2; exit 3")
	if err := client.StartExecution(t.Context(), sandbox.ID, spec); err != nil {
		t.Fatal(err)
	}
	result, err := client.AwaitExecution(t.Context(), sandbox.ID, spec.ID)
	if err != nil || result.Stdout != "out\n" || result.Stderr != "err\n" || result.ExitCode != 3 {
		t.Errorf("the result is %+v, %v", result, err)
	}
	if len(result.Outline) == 0 {
		t.Error("the result comes without an outline of its events")
	}
	var direct, remote []yurt.Event
	if err := e.WatchExecution(t.Context(), sandbox.ID, spec.ID, 0, collect(&direct)); err != nil {
		t.Fatal(err)
	}
	apart := cmpopts.IgnoreFields(yurt.Result{}, "Outline") // it comes with the result that is waited for
	if err := client.WatchExecution(t.Context(), sandbox.ID, spec.ID, 1, collect(&remote)); err != nil || !cmp.Equal(remote, direct[1:], apart) {
		t.Errorf("the events after the first are not the same: %v\n%s", err, cmp.Diff(direct[1:], remote, apart))
	}
	if err := client.ForgetExecution(t.Context(), sandbox.ID, spec.ID); err != nil {
		t.Error(err)
	}
	if _, err := client.AwaitExecution(t.Context(), sandbox.ID, spec.ID); yurt.CodeOf(err) != yurt.CodeExecutionNotFound {
		t.Errorf("it is forgotten, and the answer is %v", err)
	}
	if runtimes, err := client.Runtimes(t.Context()); err != nil || len(runtimes) == 0 {
		t.Errorf("runtimes are %+v, %v", runtimes, err)
	}
	if err := client.DestroySandbox(t.Context(), sandbox.ID); err != nil {
		t.Error(err)
	}
	if list, err := e.Sandboxes(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("left are %+v, %v", list, err)
	}
}

func collect(into *[]yurt.Event) func(yurt.Event) error {
	return func(e yurt.Event) error { *into = append(*into, e); return nil }
}

func TestErrorsAreTheNodesOwn(t *testing.T) {
	client, e := node(t)
	spec := testutil.Spec()
	spec.Resources.Memory = 1
	_, want := e.CreateSandbox(t.Context(), spec)
	_, got := client.CreateSandbox(t.Context(), spec)
	var direct, remote *yurt.Error
	if !errors.As(want, &direct) || !errors.As(got, &remote) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if remote.Code != direct.Code || remote.Field != direct.Field || remote.Message != direct.Message || remote.Field == "" {
		t.Errorf("got %+v, want %+v", remote, direct)
	}
}

func TestMuchOutputComesWhole(t *testing.T) {
	client, _ := node(t)
	sandbox := create(t, client)
	r := run(t, client, sandbox.ID, `i=0; while [ $i -lt 40 ]; do head -c 262144 /dev/zero; i=$((i+1)); done; echo end`)
	if len(r.Stdout) != 40*262144+4 || !strings.HasSuffix(r.Stdout, "\x00end\n") {
		t.Errorf("it has %d bytes, error %+v", len(r.Stdout), r.Error)
	}
}

// The error that a watcher returns comes back to it, even if it looks like the node's.
func TestWatcherThatWantsNoMore(t *testing.T) {
	client, _ := node(t)
	sandbox := create(t, client)
	spec := command("echo one; sleep 100")
	if err := client.StartExecution(t.Context(), sandbox.ID, spec); err != nil {
		t.Fatal(err)
	}
	enough := yurt.Errorf(yurt.CodeUnavailable, "enough")
	if err := client.WatchExecution(t.Context(), sandbox.ID, spec.ID, 0, func(yurt.Event) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("the watch ended with %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := client.AwaitExecution(ctx, sandbox.ID, spec.ID); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the caller's deadline came as %v", err)
	}
}

func TestDeathOfASandboxIsTold(t *testing.T) {
	client, _ := node(t)
	sandbox := create(t, client)
	died := make(chan yurt.Sandbox, 1)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { ended <- client.WatchSandboxes(ctx, func(s yurt.Sandbox) { died <- s }) }()
	testutil.Kill(t, sandbox.PID)
	if dead := <-died; dead.ID != sandbox.ID || dead.State != yurt.SandboxDead || dead.Reason == "" {
		t.Errorf("it told %+v", dead)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the watch ended with %v", err)
	}
}

// Stopping the executor ends no process in its sandboxes, and watches go on with the next.
func TestWatchGoesOnWithTheNextExecutor(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	socket := filepath.Join(t.TempDir(), "sock")
	first := testutil.Open(t, config)
	stop := serveAt(t, first, socket)
	client := dial(t, socket)
	sandbox := create(t, client)
	spec := command("for i in $(seq 20); do echo $i; sleep 0.05; done")
	if err := client.StartExecution(t.Context(), sandbox.ID, spec); err != nil {
		t.Fatal(err)
	}
	begun, ended := make(chan struct{}), make(chan error, 1)
	var seen strings.Builder
	go func() {
		ended <- client.WatchExecution(t.Context(), sandbox.ID, spec.ID, 0, func(e yurt.Event) error {
			if e.Seq == 2 {
				close(begun)
			}
			seen.Write(e.Data)
			return nil
		})
	}()
	<-begun
	stop()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	serveAt(t, testutil.Start(t, config), socket)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if want := strings.Join(strings.Fields(seen.String()), " "); want != "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20" {
		t.Errorf("the watcher saw %q", seen.String())
	}
}
