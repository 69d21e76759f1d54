package packages

import (
	"errors"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
)

// TestQuota: a sandbox whose installations fail waits ever longer, one whose installations succeed does not wait, and
// no sandbox has many at once.
func TestQuota(t *testing.T) {
	now, failure := time.Unix(1000, 0), errors.New("no such package")
	var q Quota
	attempt := func(err error) error {
		refused := q.begin(now)
		if refused == nil {
			q.end()
			q.note(err, now)
		}
		return refused
	}
	for range 2 * freeFailures {
		if err := errors.Join(attempt(failure), attempt(nil)); err != nil {
			t.Fatalf("failures with successes between them: %v", err)
		}
	}
	for range freeFailures {
		if err := attempt(failure); err != nil {
			t.Fatalf("one of the first failures: %v", err)
		}
	}
	for _, pause := range []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second} {
		now = now.Add(pause - time.Second)
		if err := attempt(failure); yurt.CodeOf(err) != yurt.CodeOverloaded {
			t.Errorf("a second before %s have passed: %v", pause, err)
		}
		if now = now.Add(time.Second); attempt(failure) != nil {
			t.Errorf("it is refused after %s", pause)
		}
	}
	for range 20 {
		now = now.Add(installPauseMost)
		if err := attempt(failure); err != nil {
			t.Errorf("after the longest pause: %v", err)
		}
	}
	now = now.Add(installPauseMost)
	for range maxSandboxInstalls {
		if err := q.begin(now); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.begin(now); yurt.CodeOf(err) != yurt.CodeOverloaded {
		t.Errorf("one too many at once: %v", err)
	}
	if q.end(); q.begin(now) != nil {
		t.Error("it is refused when one has ended")
	}
}
