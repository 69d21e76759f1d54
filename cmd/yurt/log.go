package main

import (
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt"
)

// logFlags say how a server logs, in every command that serves the same.
type logFlags struct{ format, level string }

func (f *logFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.format, "log-format", "text", "text or json")
	flags.StringVar(&f.level, "log-level", "info", "the least that is logged: debug (each request too), info, warn or error")
}

// logger returns a logger to standard error.
func (f *logFlags) logger(a *app) (*slog.Logger, error) {
	level, known := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}[f.level]
	if !known {
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--log-level", "%q is no level of logs; give debug, info, warn or error", f.level)
	}
	options := &slog.HandlerOptions{Level: level}
	switch f.format {
	case "text":
		return slog.New(slog.NewTextHandler(a.stderr, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(a.stderr, options)), nil
	default:
		return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "--log-format", "%q is no format of logs; give text or json", f.format)
	}
}
