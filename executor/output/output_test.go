package output_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/output"
	"github.com/yurtrun/yurt/executor/runlog"
)

func gather(t *testing.T, entries ...runlog.Entry) (*yurt.Result, []byte) {
	t.Helper()
	log, err := runlog.Create(runlog.Place{Path: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	for _, e := range entries {
		if err := log.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	return output.Gather(func(each func(runlog.Entry) error) error {
		done, cancel := context.WithCancel(t.Context())
		cancel()
		return log.Follow(done, each)
	}, log)
}

func TestSmallOutputIsInTheResult(t *testing.T) {
	r, control := gather(t, runlog.Entry{Kind: runlog.Stdout, Data: []byte("a\xff")}, runlog.Entry{Kind: runlog.Stderr, Data: []byte("b")},
		runlog.Entry{Kind: runlog.Control, Data: []byte("{}")})
	if r.Output != nil || r.Stdout != "a\ufffd" || r.Stderr != "b" || string(control) != "{}" {
		t.Errorf("stdout %q, stderr %q, apart %v, control %q", r.Stdout, r.Stderr, r.Output, control)
	}
}

func TestLargeOutputStaysInItsLog(t *testing.T) {
	text := strings.Repeat("x", yurt.InlineOutput)
	r, _ := gather(t, runlog.Entry{Kind: runlog.Stdout, Data: []byte(text)}, runlog.Entry{Kind: runlog.Stderr, Data: []byte("end")})
	if r.Stdout != "" || r.Stderr != "" || r.OutputBytes(yurt.EventStdout) != yurt.InlineOutput || r.OutputBytes(yurt.EventStderr) != 3 {
		t.Fatalf("the result has %d bytes in it, and says that %d and %d are apart", len(r.Stdout)+len(r.Stderr), r.OutputBytes(yurt.EventStdout), r.OutputBytes(yurt.EventStderr))
	}
	source, err := r.OpenOutput(t.Context(), yurt.EventStdout, 10)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(source); err != nil || string(got) != text[10:] {
		t.Errorf("%d bytes came, %v; want %d", len(got), err, len(text)-10)
	}
	if last := output.Last(t.Context(), r, yurt.EventStderr, 2); last != "nd" {
		t.Errorf("the end is %q, want %q", last, "nd")
	}
	if whole, err := r.Whole(t.Context()); err != nil || whole.Stdout != text || whole.Stderr != "end" || whole.Output != nil {
		t.Errorf("as a whole it has %d bytes, %v", len(whole.Stdout), err)
	}
}

func TestBudget(t *testing.T) {
	b := output.NewBudget(10)
	give, err := b.Take(t.Context(), 100)
	if err != nil {
		t.Fatal("more than the budget is taken alone:", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := b.Take(short, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a byte of a budget that is used up: %v", err)
	}
	give()
	for range 10 {
		if _, err := b.Take(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
	}
}
