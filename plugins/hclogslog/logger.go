package hclogslog

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
)

// LevelTrace is the slog level of hclog's TRACE, below DEBUG.
const LevelTrace = slog.LevelDebug - 4

// nameKey is the attribute that holds a logger's name.
const nameKey = "logger"

// logger is an [hclog.Logger]. Loggers derived from one another share its level.
type logger struct {
	out     *slog.Logger
	name    string
	implied []any         // that With added
	level   *atomic.Int32 // an hclog.Level; NoLevel leaves it to the handler
}

var _ hclog.Logger = (*logger)(nil)

// New returns a logger that writes to out.
func New(out *slog.Logger) hclog.Logger {
	return &logger{out: out, level: new(atomic.Int32)}
}

// Log implements [hclog.Logger].
func (l *logger) Log(level hclog.Level, msg string, args ...any) {
	if !l.enabled(level) {
		return
	}
	attrs := make([]any, 0, len(l.implied)+len(args)+2)
	if l.name != "" {
		attrs = append(attrs, nameKey, l.name)
	}
	attrs = append(attrs, pairs(l.implied)...)
	attrs = append(attrs, pairs(args)...)
	l.out.Log(context.Background(), toSlog(level), msg, attrs...)
}

// Trace implements [hclog.Logger].
func (l *logger) Trace(msg string, args ...any) { l.Log(hclog.Trace, msg, args...) }

// Debug implements [hclog.Logger].
func (l *logger) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }

// Info implements [hclog.Logger].
func (l *logger) Info(msg string, args ...any) { l.Log(hclog.Info, msg, args...) }

// Warn implements [hclog.Logger].
func (l *logger) Warn(msg string, args ...any) { l.Log(hclog.Warn, msg, args...) }

// Error implements [hclog.Logger].
func (l *logger) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

// IsTrace implements [hclog.Logger].
func (l *logger) IsTrace() bool { return l.enabled(hclog.Trace) }

// IsDebug implements [hclog.Logger].
func (l *logger) IsDebug() bool { return l.enabled(hclog.Debug) }

// IsInfo implements [hclog.Logger].
func (l *logger) IsInfo() bool { return l.enabled(hclog.Info) }

// IsWarn implements [hclog.Logger].
func (l *logger) IsWarn() bool { return l.enabled(hclog.Warn) }

// IsError implements [hclog.Logger].
func (l *logger) IsError() bool { return l.enabled(hclog.Error) }

// ImpliedArgs implements [hclog.Logger].
func (l *logger) ImpliedArgs() []any { return slices.Clone(l.implied) }

// With implements [hclog.Logger].
func (l *logger) With(args ...any) hclog.Logger {
	derived := *l
	derived.implied = append(slices.Clip(l.implied), args...)
	return &derived
}

// Name implements [hclog.Logger].
func (l *logger) Name() string { return l.name }

// Named implements [hclog.Logger].
func (l *logger) Named(name string) hclog.Logger {
	if l.name != "" {
		name = l.name + "." + name
	}
	return l.ResetNamed(name)
}

// ResetNamed implements [hclog.Logger].
func (l *logger) ResetNamed(name string) hclog.Logger {
	derived := *l
	derived.name = name
	return &derived
}

// SetLevel implements [hclog.Logger]: it can hide more than the handler does, not less.
func (l *logger) SetLevel(level hclog.Level) { l.level.Store(int32(level)) }

// GetLevel implements [hclog.Logger]: the lowest level that is written.
func (l *logger) GetLevel() hclog.Level {
	for level := hclog.Trace; level <= hclog.Error; level++ {
		if l.enabled(level) {
			return level
		}
	}
	return hclog.Off
}

// StandardLogger implements [hclog.Logger].
func (l *logger) StandardLogger(opts *hclog.StandardLoggerOptions) *log.Logger {
	return log.New(l.StandardWriter(opts), "", 0)
}

// StandardWriter implements [hclog.Logger].
func (l *logger) StandardWriter(opts *hclog.StandardLoggerOptions) io.Writer {
	if opts == nil {
		opts = &hclog.StandardLoggerOptions{}
	}
	return &lineWriter{log: l, opts: *opts}
}

func (l *logger) enabled(level hclog.Level) bool {
	least := hclog.Level(l.level.Load())
	return level != hclog.Off && level >= least && l.out.Enabled(context.Background(), toSlog(level))
}

func toSlog(level hclog.Level) slog.Level {
	switch level {
	case hclog.Trace:
		return LevelTrace
	case hclog.Debug:
		return slog.LevelDebug
	case hclog.Warn:
		return slog.LevelWarn
	case hclog.Error:
		return slog.LevelError
	default: // hclog writes a record without a level as INFO
		return slog.LevelInfo
	}
}

// pairs turns hclog's arguments into slog's: keys become strings, hclog's
// formatting types become text, and a value without a key gets hclog's name for it.
func pairs(args []any) []any {
	out := make([]any, 0, len(args)+1)
	if len(args)%2 != 0 {
		last := args[len(args)-1]
		args = append(slices.Clip(args[:len(args)-1]), hclog.MissingKey, last)
	}
	for i := 0; i < len(args); i += 2 {
		key, ok := args[i].(string)
		if !ok {
			key = fmt.Sprint(args[i])
		}
		out = append(out, slog.Any(key, value(args[i+1])))
	}
	return out
}

func value(v any) any {
	switch v := v.(type) {
	case hclog.Format:
		if format, ok := first(v).(string); ok {
			return fmt.Sprintf(format, v[1:]...)
		}
		return ""
	case hclog.Hex:
		return fmt.Sprintf("0x%x", int(v))
	case hclog.Octal:
		return fmt.Sprintf("0%o", int(v))
	case hclog.Binary:
		return fmt.Sprintf("0b%b", int(v))
	case hclog.Quote:
		return fmt.Sprintf("%q", string(v))
	default:
		return v
	}
}

func first(list hclog.Format) any {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}
