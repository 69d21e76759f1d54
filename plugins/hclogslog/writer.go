package hclogslog

import (
	"strings"

	"github.com/hashicorp/go-hclog"
)

// lineWriter logs each write as one record, as the standard log package writes.
type lineWriter struct {
	log  *logger
	opts hclog.StandardLoggerOptions
}

// Write never fails.
func (w *lineWriter) Write(data []byte) (int, error) {
	line := strings.TrimRight(string(data), " \t\r\n")
	if w.opts.InferLevelsWithTimestamp {
		line = withoutTimestamp(line)
	}
	level, rest := splitLevel(line)
	switch {
	case w.opts.ForceLevel != hclog.NoLevel:
		level, line = w.opts.ForceLevel, rest
	case w.opts.InferLevels:
		line = rest
	default:
		level = hclog.Info
	}
	w.log.Log(level, line)
	return len(data), nil
}

// splitLevel takes a prefix such as "[WARN]" off a line; without one it is INFO.
func splitLevel(line string) (hclog.Level, string) {
	prefixes := []struct {
		text  string
		level hclog.Level
	}{
		{"[TRACE]", hclog.Trace},
		{"[DEBUG]", hclog.Debug},
		{"[INFO]", hclog.Info},
		{"[WARN]", hclog.Warn},
		{"[ERROR]", hclog.Error},
		{"[ERR]", hclog.Error},
	}
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(line, p.text); ok {
			return p.level, strings.TrimSpace(rest)
		}
	}
	return hclog.Info, line
}

// withoutTimestamp drops the text before the first bracket when it is made only of the characters
// of dates and times.
func withoutTimestamp(line string) string {
	at := strings.IndexByte(line, '[')
	if at <= 0 || strings.Trim(line[:at], "0123456789:./-+TZ ") != "" {
		return line
	}
	return line[at:]
}
