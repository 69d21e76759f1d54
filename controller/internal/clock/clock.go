// Package clock tells the time by which sessions end: the machine's without its jumps, compared with the store's.
package clock

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Clock tells the time and waits. Tests replace it.
type Clock interface {
	Now() time.Time
	// Until delivers once on the channel at the time, or at once when that has passed; stop releases its resources and is called
	// in any case.
	Until(at time.Time) (fired <-chan time.Time, stop func())
}

// catchUp bounds how fast a steady clock follows the machine's: it goes faster or slower
// than time passes by one part in so many.
const catchUp = 10

// Steady is the machine's clock without its jumps. Sessions end by the difference of two of its readings, so a jump of two
// hours would end all idle sessions. It begins with the machine's time, goes as time passes, and moves towards the machine's clock
// slowly where that was set. Its methods are safe for concurrent use.
type Steady struct {
	// passed is the time since a fixed moment, independent of all settings of clocks. It counts on while the machine is suspended.
	passed func() time.Duration

	mu      sync.Mutex
	machine func() time.Time // the clock that it is led towards
	now     time.Time
	read    time.Duration // the value of passed at that time
}

func newSteady(machine func() time.Time, passed func() time.Duration) *Steady {
	return &Steady{machine: machine, passed: passed, now: machine().Round(0), read: passed()}
}

// restart sets the clock to the machine's.
func (c *Steady) restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.read = c.machine().Round(0), c.passed()
}

// System is the steady clock of this machine.
func System() *Steady { return Following(time.Now) }

// Following is a steady clock of this machine that follows another clock in place of the machine's.
func Following(machine func() time.Time) *Steady { return newSteady(machine, sinceBoot) }

// sinceBoot is how long this machine has run, or was suspended.
func sinceBoot() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) // every Linux has it
	return time.Duration(t.Nano())
}

// Now implements [Clock]. It never goes back, once it has begun.
func (c *Steady) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	read := c.passed()
	passed := read - c.read
	most := passed / catchUp
	behind := c.machine().Round(0).Sub(c.now) - passed
	c.now = c.now.Add(passed + min(max(behind, -most), most))
	c.read = read
	return c.now
}

// Until implements [Clock].
func (c *Steady) Until(at time.Time) (<-chan time.Time, func()) {
	timer := time.NewTimer(at.Sub(c.Now()))
	return timer.C, func() { timer.Stop() }
}
