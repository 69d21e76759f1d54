package controller

import "time"

// Clock tells the time and waits. Tests replace it.
type Clock interface {
	Now() time.Time
	// Until delivers once on the channel at the time, or at once when that has passed;
	// stop releases what it holds and is called in any case.
	Until(at time.Time) (fired <-chan time.Time, stop func())
}

// SystemClock is the time of the machine.
type SystemClock struct{}

// Now implements [Clock].
func (SystemClock) Now() time.Time { return time.Now() }

// Until implements [Clock].
func (SystemClock) Until(at time.Time) (<-chan time.Time, func()) {
	timer := time.NewTimer(time.Until(at))
	return timer.C, func() { timer.Stop() }
}
