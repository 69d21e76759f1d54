package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
)

// resultFlags say for how long results are kept, and how many.
type resultFlags struct {
	retention    time.Duration
	quota, space string
}

// Bounds of how long a session that has ended is remembered.
const (
	minRetention = time.Minute
	maxRetention = 90 * 24 * time.Hour

	minResults = 1 << 20 // bytes
)

func (f *resultFlags) add(flags *pflag.FlagSet) {
	flags.DurationVar(&f.retention, "result-retention", yurt.ResultRetention, "how long an ended session and its results are kept: 1m to 2160h")
	flags.StringVar(&f.quota, "result-quota", yurt.Size(yurt.ResultQuota).String(), "how much is kept of the results of a session; the oldest lose their output first: 1Mi or more")
	flags.StringVar(&f.space, "result-space", yurt.Size(yurt.ResultSpace).String(), "the same, of all sessions together")
}

func (f *resultFlags) config(c *controller.Config) error {
	if f.retention < minRetention || f.retention > maxRetention {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "--result-retention", "%s is out of range; give %s to %s, such as %s", f.retention, minRetention, maxRetention, yurt.ResultRetention)
	}
	c.ResultRetention = f.retention
	for _, bound := range []struct {
		flag, value string
		into        *yurt.Size
	}{{"--result-quota", f.quota, &c.ResultQuota}, {"--result-space", f.space, &c.ResultSpace}} {
		size, err := yurt.ParseSize(bound.value)
		if err != nil || size < minResults {
			return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, bound.flag, "%.40q is not a size of %s or more; give one such as %s", bound.value, yurt.Size(minResults), yurt.Size(yurt.ResultQuota))
		}
		*bound.into = size
	}
	return nil
}
