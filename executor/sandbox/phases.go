package sandbox

import (
	"context"
	"maps"
	"time"

	"github.com/yurtrun/yurt/internal/tracing"
)

// Phases measures the steps of an operation, in milliseconds. Each step is a part of the trace of the operation's request.
type Phases struct {
	ctx         context.Context //nolint:containedctx // its trace, which steps belong to that outlast the request
	began, last time.Time
	took        map[string]float64
}

// NewPhases begins the first step of an operation of ctx.
func NewPhases(ctx context.Context) *Phases {
	now := time.Now()
	return &Phases{ctx: context.WithoutCancel(ctx), began: now, last: now, took: make(map[string]float64)}
}

// Mark ends the current step and names it.
func (p *Phases) Mark(name string) {
	now := time.Now()
	p.took[name] = Millis(now.Sub(p.last))
	tracing.Part(p.ctx, name, p.last, now)
	p.last = now
}

// Trace adds a part to the trace that is no step, since begin.
func (p *Phases) Trace(name string, begin time.Time) {
	if p != nil {
		tracing.Part(p.ctx, name, begin, time.Now())
	}
}

// Add takes over measures from elsewhere.
func (p *Phases) Add(took map[string]float64) { maps.Copy(p.took, took) }

// Done returns the measures so far, with their total. They are the caller's.
func (p *Phases) Done() map[string]float64 {
	p.took["total"] = Millis(time.Since(p.began))
	return maps.Clone(p.took)
}

// Millis returns a time in milliseconds.
func Millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
