package serverlog

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestFloodIsSampled: of a flood a hundred lines a second of each kind are logged, and then how many were left out. Other lines and
// those of debug are all there.
func TestFloodIsSampled(t *testing.T) {
	var out bytes.Buffer
	flags := &Flags{Level: new(slog.LevelVar), format: "text", level: "debug"}
	logger, err := flags.Logger(&out)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	log := func(after time.Duration, level slog.Level, text string) {
		line := slog.NewRecord(begin.Add(after), level, text, 0)
		if err := logger.With("n", 1).Handler().Handle(context.Background(), line); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 1000 {
		log(time.Duration(n)*time.Microsecond, slog.LevelError, "flooded")
		log(time.Duration(n)*time.Microsecond, slog.LevelDebug, "asked for")
	}
	log(time.Millisecond, slog.LevelError, "rare")
	if strings.Contains(out.String(), "left out") {
		t.Error("the log tells of lines that were left out before the second is over")
	}
	log(time.Second, slog.LevelWarn, "flooded")
	log(1100*time.Millisecond, slog.LevelError, "flooded")
	for text, want := range map[string]int{
		"level=ERROR msg=flooded": 101, "level=WARN msg=flooded": 1, "msg=rare": 1, `msg="asked for"`: 1000,
		`level=ERROR msg="lines were left out of the log" like=flooded lines=900`: 1, "left out": 1,
	} {
		if n := strings.Count(out.String(), text); n != want {
			t.Errorf("the log has %d lines with %q, want %d", n, text, want)
		}
	}
}
