package executor

import (
	"maps"
	"time"
)

// phases measures what the steps of something took, in milliseconds.
type phases struct {
	began, last time.Time
	took        map[string]float64
}

func newPhases() *phases {
	now := time.Now()
	return &phases{began: now, last: now, took: make(map[string]float64)}
}

// mark ends the current step and names it.
func (p *phases) mark(name string) {
	now := time.Now()
	p.took[name] = millis(now.Sub(p.last))
	p.last = now
}

// add takes over what was measured elsewhere.
func (p *phases) add(took map[string]float64) { maps.Copy(p.took, took) }

// done returns the measures so far, with their total. They are the caller's.
func (p *phases) done() map[string]float64 {
	p.took["total"] = millis(time.Since(p.began))
	return maps.Clone(p.took)
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
