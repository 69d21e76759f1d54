// Package serverlog makes the logger of a server from its flags. Every server has the same flags, and can be given another level
// while it runs.
package serverlog

import (
	"io"
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/internal/tracing"
)

// Flags say how a server logs.
type Flags struct {
	Level *slog.LevelVar // in force

	format, level string
}

// Add adds the flags.
func (f *Flags) Add(flags *pflag.FlagSet) {
	f.Level = new(slog.LevelVar)
	flags.StringVar(&f.format, "log-format", "text", "text or json")
	flags.StringVar(&f.level, "log-level", "info", "the least that is logged: debug (each request too), info, warn or error")
}

// Set puts a level in force by its name.
func (f *Flags) Set(name string) error {
	level, known := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}[name]
	if !known {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "--log-level", "%q is no level of logs; give debug, info, warn or error", name)
	}
	f.Level.Set(level)
	return nil
}

// Logger returns a logger that writes to w.
func (f *Flags) Logger(w io.Writer) (*slog.Logger, error) {
	if err := f.Set(f.level); err != nil {
		return nil, err
	}
	options := &slog.HandlerOptions{Level: f.Level}
	switch f.format {
	case "text":
		return slog.New(tracing.Handler(sampled(slog.NewTextHandler(w, options)))), nil
	case "json":
		return slog.New(tracing.Handler(sampled(slog.NewJSONHandler(w, options)))), nil
	default:
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--log-format", "%q is no format of logs; give text or json", f.format)
	}
}
