package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
)

// resultFlags say for how long results are kept.
type resultFlags struct {
	retention time.Duration
}

// Bounds of how long a session that has ended is remembered.
const (
	minRetention = time.Minute
	maxRetention = 90 * 24 * time.Hour
)

func (f *resultFlags) add(flags *pflag.FlagSet) {
	flags.DurationVar(&f.retention, "result-retention", yurt.ResultRetention, "how long an ended session and its results are kept: 1m to 2160h")
}

func (f *resultFlags) config(c *controller.Config) error {
	if f.retention < minRetention || f.retention > maxRetention {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "--result-retention", "%s is out of range; give %s to %s, such as %s", f.retention, minRetention, maxRetention, yurt.ResultRetention)
	}
	c.ResultRetention = f.retention
	return nil
}
