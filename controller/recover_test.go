package controller_test

import (
	"context"
	"testing"

	"github.com/yurtrun/yurt"
)

func TestRecoverKeepsWhatLives(t *testing.T) {
	w := testWorld(t)
	idle, busy := w.create(yurt.ModePersistent), w.create(yurt.ModePersistent)
	running, ended := w.execute(busy.ID, "echo a block"), w.execute(busy.ID, "echo b block")
	w.restart(func() {})
	if got := w.session(idle.ID); got.State != yurt.SessionReady {
		t.Errorf("the idle session is %s: %s", got.State, got.Reason)
	}
	w.wait(w.execute(idle.ID, "echo works"))
	if got := w.session(busy.ID); got.State != yurt.SessionRunning {
		t.Errorf("the busy session is %s: %s", got.State, got.Reason)
	}
	w.node.Release()
	for e, want := range map[*yurt.Execution]string{&running: "a\n", &ended: "b\n"} {
		if got := w.wait(*e); got.State != yurt.ExecutionSucceeded || got.Result.Stdout != want {
			t.Errorf("result %+v", got.Result)
		}
	}
	w.eventually("the session is ready", func() bool { return w.session(busy.ID).State == yurt.SessionReady })
}

func TestRecoverExecutionThatEndedMeanwhile(t *testing.T) {
	w := testWorld(t)
	s := w.create(yurt.ModeEphemeral)
	e := w.execute(s.ID, "echo a block")
	w.restart(w.node.Release)
	if got := w.wait(e); got.Result.Stdout != "a\n" || got.Result.Error != nil {
		t.Errorf("result %+v", got.Result)
	}
	w.wantState(s.ID, yurt.SessionTerminated, "ephemeral: its one execution ended")
	w.wantNoSandbox()
}

func TestRecoverExecutionThatTheNodeLost(t *testing.T) {
	w := testWorld(t)
	s := w.create(yurt.ModePersistent)
	e := w.execute(s.ID, "block")
	w.restart(func() { w.node.Forget(s.SandboxID, e.ID) })
	if got := w.wait(e); got.Result.Error == nil || got.Result.Error.Type != yurt.ErrorTypeSandboxLost {
		t.Errorf("result %+v", got.Result)
	}
	w.wantState(s.ID, yurt.SessionReady, "execution "+e.ID+" ended")
}

func TestRecoverSessionWithoutSandbox(t *testing.T) {
	w := testWorld(t)
	s := w.create(yurt.ModePersistent)
	e := w.execute(s.ID, "block")
	w.restart(func() {
		if err := w.node.DestroySandbox(context.Background(), s.SandboxID); err != nil {
			t.Error(err)
		}
	})
	w.wantState(s.ID, yurt.SessionFailed, "its sandbox is gone from node fake")
	if got := w.wait(e); got.Result.Error == nil || got.Result.Error.Type != yurt.ErrorTypeSandboxLost {
		t.Errorf("result %+v", got.Result)
	}
}

func TestRecoverDeadSandbox(t *testing.T) {
	w := testWorld(t)
	s := w.create(yurt.ModePersistent)
	w.restart(func() { w.node.Kill(s.SandboxID, "its init process ended") })
	w.wantState(s.ID, yurt.SessionFailed, "its sandbox died: its init process ended")
	w.wantNoSandbox()
}

func TestRecoverInterruptedCreation(t *testing.T) {
	w := testWorld(t)
	s := yurt.Session{
		ID: yurt.NewSessionID(), TemplateID: "shell-basic", Mode: yurt.ModePersistent, State: yurt.SessionCreating,
		SandboxID: yurt.NewSandboxID(), CreatedAt: w.clock.Now(),
	}
	w.restart(func() {
		if err := w.store.CreateSession(t.Context(), s, yurt.Transition{To: s.State, At: s.CreatedAt}, nil); err != nil {
			t.Fatal(err)
		}
		_, err := w.node.CreateSandbox(t.Context(), yurt.SandboxSpec{ID: s.SandboxID, Labels: map[string]string{yurt.SessionLabel: s.ID}})
		if err != nil {
			t.Fatal(err)
		}
	})
	w.wantState(s.ID, yurt.SessionFailed, "it was interrupted by a restart while its sandbox was made")
	w.wantNoSandbox()
}

func TestRecoverSandboxWithoutSession(t *testing.T) {
	w := testWorld(t)
	w.create(yurt.ModePersistent) // of which the store knows, so that it is the right one
	w.restart(func() {
		for _, owner := range []string{"ses_unknown", ""} {
			spec := yurt.SandboxSpec{ID: yurt.NewSandboxID(), Labels: map[string]string{yurt.SessionLabel: owner}}
			if _, err := w.node.CreateSandbox(t.Context(), spec); err != nil {
				t.Fatal(err)
			}
		}
	})
	w.eventually("the sandbox of somebody else is left, and that of the session", func() bool { return w.node.Count() == 2 })
}

func TestRecoverExecutionOfAnEndedSession(t *testing.T) {
	w := testWorld(t)
	s := w.create(yurt.ModePersistent)
	e := yurt.Execution{ID: yurt.NewExecutionID(), SessionID: s.ID, Kind: yurt.KindCommand, State: yurt.ExecutionRunning, CreatedAt: w.clock.Now()}
	if _, err := w.EndSession(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	w.restart(func() {
		stay := func(*yurt.Session, int) ([]yurt.Transition, error) { return nil, nil }
		if _, err := w.store.BeginExecution(t.Context(), e, stay); err != nil {
			t.Fatal(err)
		}
	})
	if got := w.wait(e); got.Result.Error == nil || got.Result.Error.Type != yurt.ErrorTypeSessionEnded {
		t.Errorf("result %+v", got.Result)
	}
}

func TestUnreachableNodeIsNotJudged(t *testing.T) {
	w := testWorld(t)
	s := w.create(yurt.ModePersistent)
	w.restart(func() { w.node.Fail("Sandboxes", yurt.Errorf(yurt.CodeUnavailable, "no route")) })
	if got := w.session(s.ID); got.State != yurt.SessionReady {
		t.Errorf("the session is %s: %s", got.State, got.Reason)
	}
}
