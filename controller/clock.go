package controller

import "time"

// Clock tells the time and waits. Tests replace it.
type Clock interface {
	Now() time.Time
	// After delivers once on the channel when d has passed; stop releases what it
	// holds and is called in any case.
	After(d time.Duration) (fired <-chan time.Time, stop func())
}

// SystemClock is the time of the machine.
type SystemClock struct{}

// Now implements [Clock].
func (SystemClock) Now() time.Time { return time.Now() }

// After implements [Clock].
func (SystemClock) After(d time.Duration) (<-chan time.Time, func()) {
	timer := time.NewTimer(d)
	return timer.C, func() { timer.Stop() }
}
