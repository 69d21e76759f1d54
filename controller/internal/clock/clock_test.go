package clock

import (
	"testing"
	"time"
)

// TestSteadyClock: a change of the machine's clock shows only gradually.
func TestSteadyClock(t *testing.T) {
	const start = 1_000_000 * time.Second
	machine, passed := start, time.Duration(0)
	c := newSteady(func() time.Time { return time.Unix(0, int64(machine)) }, func() time.Duration { return passed })
	for _, step := range []struct {
		what         string
		passes, jump time.Duration
		want         time.Duration // since the start
	}{
		{"it goes as time passes", time.Hour, 0, time.Hour},
		{"and stands still as it does", 0, 0, time.Hour},
		{"a jump does nothing at once", 0, 2 * time.Hour, time.Hour},
		{"nor in a moment", 10 * time.Second, 0, time.Hour + 11*time.Second},
		{"it is caught up with", 10 * time.Hour, 0, 12*time.Hour + 11*time.Second},
		{"to the last", 10 * time.Hour, 0, 23*time.Hour + 10*time.Second},
		{"a jump back does nothing either", 0, -2 * time.Hour, 23*time.Hour + 10*time.Second},
		{"time goes on", 10 * time.Second, 0, 23*time.Hour + 19*time.Second},
		{"until they agree", 100 * time.Hour, 0, 121*time.Hour + 20*time.Second},
		{"what is set by little counts at once", time.Second, 50 * time.Millisecond, 121*time.Hour + 21*time.Second + 50*time.Millisecond},
	} {
		passed, machine = passed+step.passes, machine+step.passes+step.jump
		if got := c.Now().Sub(time.Unix(0, int64(start))); got != step.want {
			t.Errorf("%s: it is %s after the start, want %s", step.what, got, step.want)
		}
	}
}

// TestSystemClock: the machine's own goes as the machine's does.
func TestSystemClock(t *testing.T) {
	c := System()
	for range 1000 {
		before, now, after := time.Now().Round(0), c.Now(), time.Now().Round(0)
		if now.Before(before.Add(-time.Second)) || now.After(after.Add(time.Second)) {
			t.Fatalf("it is %s, want one between %s and %s", now, before, after)
		}
	}
	fired, stop := c.Until(c.Now().Add(time.Millisecond))
	defer stop()
	<-fired
	past, stopPast := c.Until(c.Now().Add(-time.Hour))
	defer stopPast()
	<-past
}
