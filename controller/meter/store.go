package meter

import (
	"context"
	"time"

	"github.com/yurtrun/yurt/access"
)

// Sample is the use of a session, or of a tenant where SessionID is empty.
type Sample struct {
	access.UsageSample

	Tenant     string
	SessionID  string
	CPUSeconds float64 // of a session since its sandbox was made
}

// Store keeps samples. Package controller/storetest holds every implementation to this.
type Store interface {
	// AddSamples adds samples. One of the same session, tenant and time that is there is left as it is.
	AddSamples(ctx context.Context, samples []Sample) error
	// Samples lists the samples of a session, or those of a tenant where sessionID is empty, from a time on, oldest first.
	Samples(ctx context.Context, tenant, sessionID string, since time.Time) ([]Sample, error)
	// PurgeSamples removes at most so many samples from before a time, and returns how many.
	PurgeSamples(ctx context.Context, before time.Time, most int) (int, error)
}
