package collect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/internal/collect"
)

func event(kind yurt.EventType, text string) yurt.Event {
	return yurt.Event{Type: kind, At: time.Now(), Data: []byte(text)}
}

// filled returns the result of an output.
func filled(t *testing.T, o *collect.Output) *yurt.Result {
	t.Helper()
	var r yurt.Result
	o.Fill(&r)
	whole, err := r.Whole(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

func TestOutput(t *testing.T) {
	budget := collect.NewBudget(1 << 20)
	long := strings.Repeat("länge", 20_000) // 120 kB, with characters across pieces
	for name, text := range map[string]string{"short": "short", "long": long} {
		o := collect.New(budget, 1<<20)
		o.Add(event(yurt.EventStdout, text[:2]))
		o.Add(event(yurt.EventStdout, text[2:]))
		o.Add(event(yurt.EventStderr, "\xff!"))
		r := filled(t, o)
		if r.Stdout != text || r.Stderr != "\ufffd!" || r.Truncated != (yurt.Truncated{}) {
			t.Errorf("%s: %d bytes of stdout, want %d; stderr %q, truncated %+v", name, len(r.Stdout), len(text), r.Stderr, r.Truncated)
		}
		if r.Metrics.StdoutBytes != int64(len(text)) || len(r.Outline) == 0 {
			t.Errorf("%s: metrics %+v, outline of %d bytes", name, r.Metrics, len(r.Outline))
		}
		o.Close()
	}
	o := collect.New(budget, 10)
	o.Add(event(yurt.EventStdout, "123456789ä"))
	o.Add(event(yurt.EventStdout, "more"))
	if r := filled(t, o); r.Stdout != "123456789" || !r.Truncated.Stdout || r.Metrics.StdoutBytes != 15 {
		t.Errorf("beyond the limit: %q, %+v, %d bytes", r.Stdout, r.Truncated, r.Metrics.StdoutBytes)
	}
}

// TestBudget: outputs take no more together than the budget has, say so, and are valid text; the budget is whole again when they are closed.
func TestBudget(t *testing.T) {
	const bytes = 256 << 10
	budget := collect.NewBudget(bytes)
	for range 3 {
		var outputs []*collect.Output
		held := 0
		for range 5 {
			o := collect.New(budget, 1<<20)
			outputs = append(outputs, o)
			for range 100 {
				o.Add(event(yurt.EventStdout, strings.Repeat("€", 700)))
			}
			r := filled(t, o)
			held += len(r.Stdout)
			if r.Truncated.Stdout != (len(r.Stdout) < 100*700*3) {
				t.Errorf("of %d bytes %d were kept, and truncated is %v", r.Metrics.StdoutBytes, len(r.Stdout), r.Truncated.Stdout)
			}
			if strings.Trim(r.Stdout, "€") != "" {
				t.Errorf("a character was cut: %q", strings.Trim(r.Stdout, "€"))
			}
			o.Add(event(yurt.EventStdout, "late"))
		}
		if held > bytes || held < bytes-bytes/8 {
			t.Errorf("%d bytes were held, want about %d and no more", held, bytes)
		}
		for _, o := range outputs {
			o.Close()
			o.Close()
			o.Add(event(yurt.EventStdout, "later"))
		}
	}
}
