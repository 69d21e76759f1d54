package tenantcmd

import (
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt/access"
)

// TestPicture: a column is as high as the highest of its samples, and a dot where there is no sample.
func TestPicture(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	sample := func(ago time.Duration, cpu float64) access.UsageSample {
		return access.UsageSample{At: now.Add(-ago), CPU: cpu}
	}
	samples := []access.UsageSample{
		sample(25*time.Hour, 9), sample(24*time.Hour-time.Minute, 1), sample(65*time.Minute, 0), sample(35*time.Minute, 0.5),
		sample(10*time.Minute, 4), sample(5*time.Minute, 2),
	}
	got := picture(samples, func(s access.UsageSample) float64 { return s.CPU }, now)
	if want := "▃" + strings.Repeat("·", pictureWidth-3) + "▁█"; got != want {
		t.Errorf("the picture is %q, want %q", got, want)
	}
}
