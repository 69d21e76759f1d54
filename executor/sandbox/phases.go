package sandbox

import (
	"maps"
	"time"
)

// Phases measures the steps of an operation, in milliseconds.
type Phases struct {
	began, last time.Time
	took        map[string]float64
}

// NewPhases begins the first step.
func NewPhases() *Phases {
	now := time.Now()
	return &Phases{began: now, last: now, took: make(map[string]float64)}
}

// Mark ends the current step and names it.
func (p *Phases) Mark(name string) {
	now := time.Now()
	p.took[name] = Millis(now.Sub(p.last))
	p.last = now
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
