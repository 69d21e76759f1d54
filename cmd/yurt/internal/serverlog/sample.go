package serverlog

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

const (
	eachSecond = 100 // lines of a kind that are logged in a second
	maxKinds   = 1000
)

// kind is that of lines with the same text.
type kind struct {
	level slog.Level
	text  string
}

// sampler logs the first lines of each kind in a second, and counts the others. So a flood of requests that fail fills no disk. Lines
// of debug are all logged, since their reader asked for each.
type sampler struct {
	slog.Handler
	*counts
}

// counts are those of a second. Handlers with other attributes share them.
type counts struct {
	base slog.Handler // for lines about those that were left out

	mu    sync.Mutex
	since time.Time
	lines map[kind]int
}

func sampled(next slog.Handler) slog.Handler {
	return sampler{next, &counts{base: next, lines: map[kind]int{}}}
}

// Handle implements slog.Handler.
func (s sampler) Handle(ctx context.Context, line slog.Record) error {
	if line.Level < slog.LevelInfo {
		return s.Handler.Handle(ctx, line) //nolint:wrapcheck // it is the handler itself
	}
	logged, over := s.count(kind{line.Level, line.Message}, line.Time)
	for _, left := range over {
		if err := s.base.Handle(context.Background(), left); err != nil {
			return err //nolint:wrapcheck // likewise
		}
	}
	if !logged {
		return nil
	}
	return s.Handler.Handle(ctx, line) //nolint:wrapcheck // likewise
}

// count counts a line, and reports whether it is logged. At the first line after a second it returns lines about those that were left out.
func (c *counts) count(k kind, at time.Time) (logged bool, over []slog.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if elapsed := at.Sub(c.since); elapsed >= time.Second || elapsed < 0 {
		over = c.leftOut(at)
		c.since = at
		clear(c.lines)
	}
	if _, known := c.lines[k]; !known && len(c.lines) >= maxKinds {
		return true, over
	}
	c.lines[k]++
	return c.lines[k] <= eachSecond, over
}

func (c *counts) leftOut(at time.Time) (over []slog.Record) {
	for k, n := range c.lines {
		if n > eachSecond {
			line := slog.NewRecord(at, k.level, "lines were left out of the log", 0)
			line.AddAttrs(slog.String("like", k.text), slog.Int("lines", n-eachSecond))
			over = append(over, line)
		}
	}
	slices.SortFunc(over, func(a, b slog.Record) int { return int(b.Level - a.Level) })
	return over
}

// WithAttrs implements slog.Handler.
func (s sampler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return sampler{s.Handler.WithAttrs(attrs), s.counts}
}

// WithGroup implements slog.Handler.
func (s sampler) WithGroup(name string) slog.Handler {
	return sampler{s.Handler.WithGroup(name), s.counts}
}
