package controller_test

import (
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
)

// TestCancel: an execution that is cancelled is interrupted, and killed if it goes on.
func TestCancel(t *testing.T) {
	w := testWorld(t, func(c *controller.Config) { c.CancelGrace = time.Second })
	s := w.create(yurt.ModePersistent)
	for _, tt := range []struct{ script, stdout string }{
		{"trap end", "SIGINTend"},
		{"trap trap end", "SIGINTSIGKILLend"},
	} {
		e := w.execute(s.ID, tt.script)
		ended, err := w.CancelExecution(t.Context(), s.ID, e.ID)
		if err != nil || !ended.State.Ended() || ended.Result.Stdout != tt.stdout {
			t.Errorf("%q ended with %+v, %v; want stdout %q", tt.script, ended.Result, err, tt.stdout)
		}
		_, err = w.CancelExecution(t.Context(), s.ID, e.ID)
		wantCode(t, err, yurt.CodeExecutionEnded)
	}
	e := w.execute(s.ID, "trap end")
	if _, err := w.PauseSession(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	_, err := w.CancelExecution(t.Context(), s.ID, e.ID)
	wantCode(t, err, yurt.CodeIllegalTransition)
	if _, err := w.ResumeSession(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
}

// TestCancelTwice: two that cancel at once have the same answer.
func TestCancelTwice(t *testing.T) {
	w := testWorld(t, func(c *controller.Config) { c.CancelGrace = time.Minute })
	s := w.create(yurt.ModePersistent)
	e := w.execute(s.ID, "trap trap end")
	first := make(chan error, 1)
	go func() {
		_, err := w.CancelExecution(t.Context(), s.ID, e.ID)
		first <- err
	}()
	if _, err := w.CancelExecution(t.Context(), s.ID, e.ID); err != nil {
		t.Error(err)
	}
	if err := <-first; err != nil {
		t.Error(err)
	}
}
