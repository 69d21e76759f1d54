package yurt_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/yurtrun/yurt"
)

// TestTransitions is the table of FEATURES: which state may follow which.
func TestTransitions(t *testing.T) {
	allowed := map[yurt.SessionState][]yurt.SessionState{
		yurt.SessionCreating: {yurt.SessionReady, yurt.SessionTerminated, yurt.SessionFailed},
		yurt.SessionReady:    {yurt.SessionRunning, yurt.SessionPaused, yurt.SessionTerminated, yurt.SessionFailed},
		yurt.SessionRunning:  {yurt.SessionReady, yurt.SessionPaused, yurt.SessionTerminated, yurt.SessionFailed},
		yurt.SessionPaused:   {yurt.SessionReady, yurt.SessionRunning, yurt.SessionTerminated, yurt.SessionFailed},
	}
	for _, from := range yurt.SessionStates() {
		for _, to := range yurt.SessionStates() {
			if got, want := from.CanBecome(to), slices.Contains(allowed[from], to); got != want {
				t.Errorf("from %s to %s: allowed %t, want %t", from, to, got, want)
			}
		}
	}
}

// TestSessionLife walks through random lives. In each of them a refused step changes no field and
// has the right code, an allowed one is recorded, no life goes on after its end, and every life can
// be ended at any moment.
func TestSessionLife(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1000, 0)
		s := yurt.Session{ID: "ses_x", State: yurt.SessionCreating, CreatedAt: now}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			to := rapid.SampledFrom(yurt.SessionStates()).Draw(t, "to")
			now = now.Add(time.Second)
			before := s
			change, err := s.Transition(to, "because", now)
			switch {
			case before.State.Ended():
				if yurt.CodeOf(err) != yurt.CodeSessionEnded {
					t.Fatalf("a step after the end gave %v", err)
				}
			case !before.State.CanBecome(to):
				if yurt.CodeOf(err) != yurt.CodeIllegalTransition {
					t.Fatalf("an illegal step gave %v", err)
				}
			case err != nil:
				t.Fatalf("from %s to %s: %v", before.State, to, err)
			default:
				if change != (yurt.Transition{From: before.State, To: to, Reason: "because", At: now}) || s.State != to || !s.UpdatedAt.Equal(now) {
					t.Fatalf("recorded %+v, session %+v", change, s)
				}
				if to.Ended() != (s.EndedAt != nil) {
					t.Fatalf("in state %s its end is %v", to, s.EndedAt)
				}
			}
			if err != nil && (s.State != before.State || s.Reason != before.Reason || s.UpdatedAt != before.UpdatedAt) {
				t.Fatalf("a refused step changed %+v to %+v", before, s)
			}
			if !s.State.Ended() && (!s.State.CanBecome(yurt.SessionTerminated) || !s.State.CanBecome(yurt.SessionFailed)) {
				t.Fatalf("a session that is %s cannot be ended", s.State)
			}
		}
	})
}

func TestExpiry(t *testing.T) {
	start := time.Unix(1000, 0)
	s := yurt.Session{
		State: yurt.SessionReady, CreatedAt: start, ActiveAt: start.Add(time.Minute),
		Timeout: yurt.Duration(time.Hour), IdleTimeout: yurt.Duration(10 * time.Minute),
	}
	if at, _ := s.Expiry(); !at.Equal(start.Add(11 * time.Minute)) {
		t.Errorf("an idle session expires at %s", at.Sub(start))
	}
	s.State = yurt.SessionRunning
	if at, _ := s.Expiry(); !at.Equal(start.Add(time.Hour)) {
		t.Errorf("a running session expires at %s", at.Sub(start))
	}
	s.State, s.ActiveAt = yurt.SessionReady, start.Add(55*time.Minute)
	if at, _ := s.Expiry(); !at.Equal(start.Add(time.Hour)) {
		t.Errorf("a session that is used expires at %s", at.Sub(start))
	}
}
