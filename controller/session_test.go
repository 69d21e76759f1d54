package controller_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/execution"
)

func TestPersistentSession(t *testing.T) {
	w := testWorld(t)
	s := w.create("")
	if s.Mode != yurt.ModePersistent {
		t.Fatalf("the default mode is %s, want %s", s.Mode, yurt.ModePersistent)
	}
	first, second := w.execute(s.ID, "block"), w.execute(s.ID, "block")
	if got := w.session(s.ID).State; got != yurt.SessionRunning {
		t.Errorf("session is %s while two executions run", got)
	}
	w.node.Release()
	w.wait(first)
	w.wait(second)
	w.wantState(s.ID, yurt.SessionReady, w.session(s.ID).Reason)
	if _, err := w.EndSession(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	w.wantState(s.ID, yurt.SessionTerminated, "ended by its user")
	w.wantNoSandbox()
	_, err := w.EndSession(t.Context(), s.ID)
	wantCode(t, err, yurt.CodeSessionEnded)
	_, err = w.Execute(t.Context(), s.ID, execution.Request{Command: []string{"true"}})
	wantCode(t, err, yurt.CodeSessionEnded)

	story, err := w.Transitions(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	var states []yurt.SessionState
	for _, change := range story {
		if change.Reason == "" || change.At.IsZero() {
			t.Errorf("transition without reason or time: %+v", change)
		}
		states = append(states, change.To)
	}
	want := []yurt.SessionState{yurt.SessionCreating, yurt.SessionReady, yurt.SessionRunning, yurt.SessionReady, yurt.SessionTerminated}
	if !slices.Equal(states, want) {
		t.Errorf("the story is %v, want %v", states, want)
	}
}

func TestEphemeralSession(t *testing.T) {
	w := testWorld(t)
	s := w.create(yurt.ModeEphemeral)
	e := w.execute(s.ID, "echo a block")
	_, err := w.Execute(t.Context(), s.ID, execution.Request{Command: []string{"true"}})
	wantCode(t, err, yurt.CodeIllegalTransition)
	w.node.Release()
	if got := w.wait(e); got.Result.Stdout != "a\n" {
		t.Errorf("stdout %q", got.Result.Stdout)
	}
	w.wantState(s.ID, yurt.SessionTerminated, "ephemeral: its one execution ended")
	w.wantNoSandbox()
}

func TestStartThatFails(t *testing.T) {
	w := testWorld(t)
	s := w.create(yurt.ModeEphemeral)
	w.node.Fail("RunExecution", yurt.Errorf(yurt.CodeRuntimeUnavailable, "the plugin hangs"))
	_, err := w.Execute(t.Context(), s.ID, execution.Request{Code: "x"})
	wantCode(t, err, yurt.CodeRuntimeUnavailable)
	latest, err := w.Execution(t.Context(), s.ID, "")
	if err != nil || latest.Result == nil || latest.Result.Error.Type != yurt.ErrorTypeRuntimeUnavailable {
		t.Errorf("the record is %+v, error %v", latest, err)
	}
	// An execution that never ran has not used the session up.
	w.wait(w.execute(s.ID, "echo a"))

	w.node.Fail("RunExecution", errors.New("a fault without a code"))
	_, err = w.Execute(t.Context(), w.create(yurt.ModePersistent).ID, execution.Request{Code: "x"})
	wantCode(t, err, yurt.CodeSandboxFailed)
}

func TestPlacementThatFails(t *testing.T) {
	w := testWorld(t)
	for _, test := range []struct {
		err  error
		code yurt.Code
	}{
		{yurt.Errorf(yurt.CodeLimitNotEnforceable, "no cgroups"), yurt.CodeLimitNotEnforceable},
		{errors.New("no space left"), yurt.CodeSandboxFailed},
	} {
		w.node.Fail("CreateSandbox", test.err)
		_, err := w.CreateSession(t.Context(), controller.CreateSessionRequest{TemplateID: "shell-basic"})
		wantCode(t, err, test.code)
		w.clock.advance(time.Second)
	}
	list, err := w.Sessions(t.Context(), contract.SessionQuery{State: yurt.SessionFailed})
	if err != nil || len(list) != 2 || list[0].Reason != "no sandbox could be made: no space left" {
		t.Errorf("sessions %+v, error %v", list, err)
	}
}

func TestCallerLeavesWhileItIsPlaced(t *testing.T) {
	w := testWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.CreateSession(ctx, controller.CreateSessionRequest{TemplateID: "shell-basic"})
	if err == nil {
		t.Fatal("a caller that left got a session")
	}
	w.wantNoSandbox()
	if live := w.live(); len(live) != 0 {
		t.Errorf("sessions live on: %+v", live)
	}
}

func TestEndWhileRunningKeepsOutput(t *testing.T) {
	w := testWorld(t)
	s := w.create(yurt.ModePersistent)
	e := w.execute(s.ID, "echo partial block")
	if _, err := w.EndSession(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	got := w.wait(e)
	if got.State != yurt.ExecutionFailed || got.Result.Error.Type != yurt.ErrorTypeSessionEnded || got.Result.Stdout != "partial\n" {
		t.Errorf("result %+v, error %+v", got.Result, got.Result.Error)
	}
	w.wantNoSandbox()
}

func TestSandboxDies(t *testing.T) {
	w := testWorld(t)
	s := w.create(yurt.ModePersistent)
	e := w.execute(s.ID, "echo partial block")
	w.node.Kill(s.SandboxID, "out of memory")
	got := w.wait(e)
	if got.Result.Error == nil || got.Result.Error.Type != yurt.ErrorTypeSandboxLost || got.Result.Stdout != "partial\n" {
		t.Errorf("result %+v, error %+v", got.Result, got.Result.Error)
	}
	w.wantState(s.ID, yurt.SessionFailed, "its sandbox died: out of memory")
	w.wantNoSandbox()
	_, err := w.WriteFile(t.Context(), s.ID, "a", nil, yurt.WriteOptions{})
	wantCode(t, err, yurt.CodeSessionEnded)
}

// TestNodeLosesExecution covers a node that answers no more for an execution but
// whose sandbox lives: the output that it had shown is lost, the session is not.
func TestNodeLosesExecution(t *testing.T) {
	w := testWorld(t)
	s := w.create(yurt.ModePersistent)
	w.node.Fail("AwaitExecution", yurt.Errorf(yurt.CodeExecutionNotFound, "never heard of it"))
	if got := w.wait(w.execute(s.ID, "block")); got.Result.Error.Type != yurt.ErrorTypeSandboxLost {
		t.Errorf("error %+v", got.Result.Error)
	}
	w.wantState(s.ID, yurt.SessionReady, w.session(s.ID).Reason)
}

func TestConcurrentClients(t *testing.T) {
	const clients = 20
	w := testWorld(t)
	shared := w.create(yurt.ModePersistent)
	var group sync.WaitGroup
	for client := range clients {
		word := string(rune('a' + client))
		group.Go(func() {
			if got := w.wait(w.execute(shared.ID, "loop 5 echo "+word)); got.Result.Stdout != word+"\n" {
				t.Errorf("client %s got %q", word, got.Result.Stdout)
			}
		})
		group.Go(func() {
			own := w.create(yurt.ModeEphemeral)
			if got := w.wait(w.execute(own.ID, "loop 5 echo "+word)); got.Result.Stdout != word+"\n" {
				t.Errorf("client %s got %q in a session of its own", word, got.Result.Stdout)
			}
		})
	}
	group.Wait()
	w.eventually("one sandbox is left", func() bool { return w.node.Count() == 1 })
	w.wantState(shared.ID, yurt.SessionReady, w.session(shared.ID).Reason)
}

func TestConcurrentIdempotentCreates(t *testing.T) {
	w := testWorld(t)
	ids := make([]string, 20)
	var group sync.WaitGroup
	for i := range ids {
		group.Go(func() {
			s, err := w.CreateSession(context.Background(), controller.CreateSessionRequest{TemplateID: "shell-basic", IdempotencyKey: "key"})
			if err != nil || s.State != yurt.SessionReady {
				t.Errorf("session %+v, error %v", s, err)
			}
			ids[i] = s.ID
		})
	}
	group.Wait()
	if slices.Sort(ids); len(slices.Compact(ids)) != 1 || w.node.Count() != 1 {
		t.Errorf("%d sessions on %d sandboxes", len(slices.Compact(ids)), w.node.Count())
	}
}

// TestFailedCreateFreesItsKey: of requests with one key whose first one fails, each gets a session that is ready, or an error that has
// the client try again.
func TestFailedCreateFreesItsKey(t *testing.T) {
	w := testWorld(t)
	w.node.Fail("CreateSandbox", yurt.Errorf(yurt.CodeOverloaded, "this node is full"))
	create := func() (yurt.Session, error) {
		return w.CreateSession(t.Context(), controller.CreateSessionRequest{TemplateID: "shell-basic", IdempotencyKey: "key"})
	}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			s, err := create()
			code := yurt.CodeOf(err)
			if code != yurt.CodeOverloaded && code != yurt.CodeUnavailable && s.State != yurt.SessionReady {
				t.Errorf("a request got a session that is %q, error %v", s.State, err)
			}
		})
	}
	group.Wait()
	if s, err := create(); err != nil || s.State != yurt.SessionReady {
		t.Errorf("after the failure a request got a session that is %q, error %v", s.State, err)
	}
	if n := w.node.Count(); n != 1 {
		t.Errorf("there are %d sandboxes for one key", n)
	}
}

func TestNotServing(t *testing.T) {
	w := testWorld(t)
	s := w.create(yurt.ModePersistent)
	w.stop()
	defer w.start()
	_, err := w.CreateSession(t.Context(), controller.CreateSessionRequest{TemplateID: "shell-basic"})
	wantCode(t, err, yurt.CodeUnavailable)
	_, err = w.Execute(t.Context(), s.ID, execution.Request{Command: []string{"true"}})
	wantCode(t, err, yurt.CodeUnavailable)
	wantCode(t, w.Ready(t.Context()), yurt.CodeUnavailable)
}

// TestSessionsHaveLimitsOfTheirOwn: all that a template may say of limits, a session may.
func TestSessionsHaveLimitsOfTheirOwn(t *testing.T) {
	w := testWorld(t)
	_, err := w.CreateTemplate(t.Context(), yurt.Template{
		Name: "limited", Runtimes: []string{}, Resources: yurt.Resources{IOWeight: 50, Disk: 4 << 20, Ulimits: yurt.Ulimits{NoFile: 128, Stack: 1 << 20}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	image, disk, files, size := yurt.DiskImage, yurt.Size(64<<20), 256, yurt.Size(1<<20)
	asked := controller.ResourcesRequest{DiskKind: &image, Disk: &disk, Ulimits: controller.UlimitsRequest{NoFile: &files, FSize: &size}}
	s, err := w.CreateSession(t.Context(), controller.CreateSessionRequest{TemplateID: "limited", Resources: asked})
	if err != nil {
		t.Fatal(err)
	}
	want := yurt.Resources{
		Disk: disk, DiskKind: image, IOWeight: 50, Ulimits: yurt.Ulimits{NoFile: 256, FSize: 1 << 20, Stack: 1 << 20},
	}.Or(yurt.DefaultResources())
	stored, err := w.Session(t.Context(), s.ID)
	if err != nil || s.Resources != want || stored.Resources != want {
		t.Errorf("it has %+v, and is stored with %+v (%v), want %+v", s.Resources, stored.Resources, err, want)
	}
	if spec, _ := w.node.Spec(s.SandboxID); spec.Limits() != want {
		t.Errorf("its sandbox was made with %+v", spec.Limits())
	}
	for field, asked := range map[string]controller.ResourcesRequest{
		"resources.disk":           {DiskKind: &image}, // of which the template has too little
		"resources.io_weight":      {IOWeight: new(int)},
		"resources.disk_kind":      {DiskKind: new(yurt.DiskKind)},
		"resources.ulimits.nofile": {Ulimits: controller.UlimitsRequest{NoFile: new(int)}},
	} {
		_, err := w.CreateSession(t.Context(), controller.CreateSessionRequest{TemplateID: "limited", Resources: asked})
		var coded *yurt.Error
		if !errors.As(err, &coded) || coded.Field != field || coded.Code != yurt.CodeLimitOutOfRange {
			t.Errorf("%s: got %v", field, err)
		}
	}
}

func TestTemplateDefaults(t *testing.T) {
	w := testWorld(t)
	_, err := w.CreateTemplate(t.Context(), yurt.Template{
		Name: "small", Runtimes: []string{}, Resources: yurt.Resources{CPU: 0.5, Memory: 64 << 20},
		Session: yurt.SessionLimits{Timeout: yurt.Duration(time.Hour)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pids := 8
	s, err := w.CreateSession(t.Context(), controller.CreateSessionRequest{
		TemplateID: "small", Resources: controller.ResourcesRequest{PIDs: &pids}, Env: map[string]string{"A": "b"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := (yurt.Resources{CPU: 0.5, Memory: 64 << 20, Disk: yurt.DefaultResources().Disk, PIDs: 8}); s.Resources != want {
		t.Errorf("resources %+v, want %+v", s.Resources, want)
	}
	if s.Timeout.Std() != time.Hour || s.IdleTimeout.Std() != yurt.DefaultIdleTimeout {
		t.Errorf("lifetime %s, idle timeout %s", s.Timeout, s.IdleTimeout)
	}
	spec, _ := w.node.Spec(s.SandboxID)
	if spec.Resources != s.Resources || spec.Env["A"] != "b" || spec.Labels[yurt.SessionLabel] != s.ID {
		t.Errorf("the sandbox was made from %+v", spec)
	}
	_, err = w.Execute(t.Context(), s.ID, execution.Request{Code: "x", Language: "python"})
	wantCode(t, err, yurt.CodeLanguageNotSupported)
}

// TestTemplateKernels: a template chooses a kernel that its runtime has.
func TestTemplateKernels(t *testing.T) {
	w := testWorld(t)
	create := func(name, runtime, kernel string) error {
		_, err := w.CreateTemplate(t.Context(), yurt.Template{Name: name, Runtimes: []string{runtime}, Kernels: map[string]string{runtime: kernel}}, nil)
		return err
	}
	if err := create("jupyter", "python", "ipykernel"); err != nil {
		t.Error(err)
	}
	for runtime, want := range map[string]string{"python": `did you mean "ipykernel"?`, "node": "take it away"} {
		err := create("unknown-"+runtime, runtime, "ipykernels")
		var coded *yurt.Error
		if !errors.As(err, &coded) || coded.Code != yurt.CodeTemplateInvalid || coded.Field != "kernels."+runtime || !strings.Contains(coded.Message, want) {
			t.Errorf("%s: got %v", runtime, err)
		}
	}
}
