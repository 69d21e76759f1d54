// Package keeping holds the flags that say for how long a server keeps results, and whether it keeps sandboxes that its store does
// not know.
package keeping

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
)

// Results say for how long results are kept, and how many.
type Results struct {
	Retention    time.Duration
	Quota, Space string
}

// Bounds of how long a session that has ended is remembered.
const (
	minRetention = time.Minute
	maxRetention = 90 * 24 * time.Hour

	minResults = 1 << 20 // bytes
)

// Add adds the flags.
func (f *Results) Add(flags *pflag.FlagSet) {
	flags.DurationVar(&f.Retention, "result-retention", yurt.ResultRetention, "how long an ended session and its results are kept: 1m to 2160h")
	flags.StringVar(&f.Quota, "result-quota", yurt.Size(yurt.ResultQuota).String(), "how much is kept of the results of a session; the oldest lose their output first: 1Mi or more")
	flags.StringVar(&f.Space, "result-space", yurt.Size(yurt.ResultSpace).String(), "the same, of all sessions together")
}

// Config fills the settings in, and refuses invalid flags.
func (f *Results) Config(c *controller.Config) error {
	if f.Retention < minRetention || f.Retention > maxRetention {
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "--result-retention", "%s is out of range; give %s to %s, such as %s", f.Retention, minRetention, maxRetention, yurt.ResultRetention)
	}
	c.ResultRetention = f.Retention
	for _, bound := range []struct {
		flag, value string
		into        *yurt.Size
	}{{"--result-quota", f.Quota, &c.ResultQuota}, {"--result-space", f.Space, &c.ResultSpace}} {
		size, err := yurt.ParseSize(bound.value)
		if err != nil || size < minResults {
			return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, bound.flag, "%.40q is not a size of %s or more; give one such as %s", bound.value, yurt.Size(minResults), yurt.Size(yurt.ResultQuota))
		}
		*bound.into = size
	}
	return nil
}
