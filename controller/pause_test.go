package controller_test

import (
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/execution"
)

func (w *world) sandboxState(id string) yurt.SandboxState {
	w.t.Helper()
	sandbox, err := w.Sandbox(w.t.(*testing.T).Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return sandbox.State
}

func TestPauseAndResume(t *testing.T) {
	w := testWorld(t)
	s := w.create(yurt.ModePersistent)
	e := w.execute(s.ID, "block")
	if got, err := w.PauseSession(t.Context(), s.ID); err != nil || got.State != yurt.SessionPaused {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err := w.PauseSession(t.Context(), s.ID); err != nil || got.State != yurt.SessionPaused {
		t.Errorf("pausing it again: %+v, %v", got, err)
	}
	if got := w.sandboxState(s.SandboxID); got != yurt.SandboxPaused {
		t.Errorf("its sandbox is %s", got)
	}
	_, err := w.Execute(t.Context(), s.ID, execution.Request{Command: []string{"true"}})
	wantCode(t, err, yurt.CodeIllegalTransition)
	w.clock.advance(2 * yurt.DefaultIdleTimeout) // which stands still
	w.eventually("it is still paused", func() bool { return w.session(s.ID).State == yurt.SessionPaused })
	if got, err := w.ResumeSession(t.Context(), s.ID); err != nil || got.State != yurt.SessionRunning {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = w.ResumeSession(t.Context(), s.ID)
	wantCode(t, err, yurt.CodeIllegalTransition)
	w.node.Release()
	w.wait(e)
	w.wantState(s.ID, yurt.SessionReady, "execution "+e.ID+" ended")
	if _, err := w.PauseSession(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	if got, err := w.ResumeSession(t.Context(), s.ID); err != nil || got.State != yurt.SessionReady {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestPausedSessionEnds(t *testing.T) {
	w := testWorld(t)
	ended, old := w.create(yurt.ModePersistent), w.create(yurt.ModePersistent)
	for _, s := range []yurt.Session{ended, old} {
		if _, err := w.PauseSession(t.Context(), s.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.EndSession(t.Context(), ended.ID); err != nil {
		t.Error(err)
	}
	_, err := w.PauseSession(t.Context(), ended.ID)
	wantCode(t, err, yurt.CodeSessionEnded)
	_, err = w.ResumeSession(t.Context(), ended.ID)
	wantCode(t, err, yurt.CodeSessionEnded)
	w.clock.advance(yurt.DefaultLifetime)
	w.wantState(old.ID, yurt.SessionTerminated, "lifetime of 6h0m0s reached")
	w.wantNoSandbox()
}

func TestPauseThatTheNodeRefuses(t *testing.T) {
	w := testWorld(t)
	s := w.create(yurt.ModePersistent)
	w.node.Fail("PauseSandbox", yurt.Errorf(yurt.CodeSandboxFailed, "frozen stiff"))
	_, err := w.PauseSession(t.Context(), s.ID)
	wantCode(t, err, yurt.CodeSandboxFailed)
	w.wantState(s.ID, yurt.SessionReady, "its node refused")
}

func TestPauseOutlivesTheController(t *testing.T) {
	w := testWorld(t)
	s, other := w.create(yurt.ModePersistent), w.create(yurt.ModePersistent)
	e := w.execute(s.ID, "echo a block")
	if _, err := w.PauseSession(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	w.restart(func() { // as if it had died between the two steps, each way
		for _, err := range []error{w.node.ResumeSandbox(t.Context(), s.SandboxID), w.node.PauseSandbox(t.Context(), other.SandboxID)} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	if got, want := w.sandboxState(s.SandboxID), yurt.SandboxPaused; got != want {
		t.Errorf("the paused session's sandbox is %s", got)
	}
	if got, want := w.sandboxState(other.SandboxID), yurt.SandboxReady; got != want {
		t.Errorf("the other session's sandbox is %s", got)
	}
	if _, err := w.ResumeSession(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	w.node.Release()
	if got := w.wait(e); got.Result.Stdout != "a\n" {
		t.Errorf("got %+v", got.Result)
	}
}

func TestSetTimeouts(t *testing.T) {
	w := testWorld(t)
	s := w.create(yurt.ModePersistent)
	longer, lifetime := yurt.Duration(3*yurt.DefaultIdleTimeout), yurt.Duration(2*yurt.DefaultIdleTimeout)
	if got, err := w.SetTimeouts(t.Context(), s.ID, nil, &longer); err != nil || got.IdleTimeout != longer || got.Timeout != s.Timeout {
		t.Fatalf("%+v, %v", got, err)
	}
	w.clock.advance(yurt.DefaultIdleTimeout + time.Second)
	if got, err := w.SetTimeouts(t.Context(), s.ID, &lifetime, nil); err != nil || got.State != yurt.SessionReady {
		t.Errorf("%+v, %v", got, err)
	}
	w.clock.advance(yurt.DefaultIdleTimeout)
	w.wantState(s.ID, yurt.SessionTerminated, "lifetime of 1h0m0s reached")
	_, err := w.SetTimeouts(t.Context(), s.ID, nil, &longer)
	wantCode(t, err, yurt.CodeSessionEnded)
	for _, bad := range []yurt.Duration{0, yurt.Duration(yurt.MaxSessionTimeout) + 1} {
		_, err := w.SetTimeouts(t.Context(), w.create(yurt.ModePersistent).ID, &bad, nil)
		wantCode(t, err, yurt.CodeLimitOutOfRange)
	}
	_, err = w.SetTimeouts(t.Context(), s.ID, nil, nil)
	wantCode(t, err, yurt.CodeInvalidArgument)
}
