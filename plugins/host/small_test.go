package host

import (
	"strings"
	"testing"
	"time"
)

func TestRestartLimitTake(t *testing.T) {
	t.Parallel()
	limit := restartLimit{burst: 2, every: 10 * time.Second}
	now := time.Now()
	for i, step := range []struct{ after, wait time.Duration }{
		{0, 0},
		{0, 0},
		{0, 10 * time.Second},
		{4 * time.Second, 6 * time.Second},
		{6 * time.Second, 0},
		{time.Hour, 0},
		{0, 0},
		{0, 10 * time.Second}, // an hour saved no more than the burst
	} {
		now = now.Add(step.after)
		if wait := limit.take(now).Round(time.Millisecond); wait != step.wait {
			t.Errorf("step %d: wait %s, want %s", i, wait, step.wait)
		}
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	var got tail
	if text := got.String(); text != "" {
		t.Errorf("empty tail %q", text)
	}
	for _, text := range []string{
		strings.Repeat("x", 10*tailBytes), "\n", "one\n\n", "two\x1b[31m\n", "\xff\n", `{"@level":"error","@message":"cannot serve","error":"no socket"}` + "\n", "three",
	} {
		if n, err := got.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("wrote %d of %d, %v", n, len(text), err)
		}
	}
	if want := "one | two\ufffd[31m | \ufffd | cannot serve: no socket | three"; got.String() != want {
		t.Errorf("tail %q, want %q", got.String(), want)
	}
	_, _ = got.Write([]byte(strings.Repeat("ü", tailBytes)))
	if text := got.String(); len(text) > 2*tailLines*tailLineRunes+100 {
		t.Errorf("tail of %d bytes", len(text))
	}
}
