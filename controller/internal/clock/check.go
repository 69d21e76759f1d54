package clock

import (
	"context"
	"fmt"
	"time"

	"github.com/yurtrun/yurt"
)

const (
	// maxApart is how far a controller's clock may be from its store's. Sessions end by the difference between the times
	// that two controllers read.
	maxApart = time.Second
	// slowAnswer is how long the store may take to tell the time. A slower answer says too little.
	slowAnswer = time.Second
)

// Store is a store with a clock of its own.
type Store interface {
	StoreClock(ctx context.Context) (time.Time, error)
}

// Check compares a controller's clock with its store's. Until the two agree for the first time, the controller's steady
// clock follows its machine's in one step, so that a machine whose clock is set right needs no restart. After that
// it moves slowly, and a jump of either clock ends no session. It is not safe for concurrent use.
type Check struct {
	store  Store // nil: there is no clock to compare with
	clock  *Steady
	agreed bool
	last   error // of the last answer that was quick enough
}

// NewCheck returns a check that always passes without a store, and for a clock that is a test's.
func NewCheck(store Store, clock Clock) *Check {
	steady, ok := clock.(*Steady)
	if !ok {
		store = nil
	}
	return &Check{store: store, clock: steady}
}

// Compare returns an error while the two clocks are too far apart, or the store has not told the time yet.
func (c *Check) Compare(ctx context.Context) error {
	if c.store == nil {
		return nil
	}
	if !c.agreed {
		c.clock.restart()
	}
	begin, before := time.Now(), c.clock.Now()
	there, err := c.store.StoreClock(ctx)
	if err != nil {
		return fmt.Errorf("asking the store for the time: %w", err)
	}
	took := time.Since(begin)
	if took > slowAnswer && c.agreed {
		return c.last
	}
	c.last = tooFarApart(before.Add(took / 2).Sub(there))
	c.agreed = c.agreed || c.last == nil
	return c.last
}

// tooFarApart returns an error for a clock that is ahead of the store's by too much, or behind it.
func tooFarApart(ahead time.Duration) error {
	if ahead.Abs() <= maxApart {
		return nil
	}
	direction := "ahead of"
	if ahead < 0 {
		direction = "behind"
	}
	return yurt.Errorf(yurt.CodeUnavailable, "the clock of this controller is %s %s the store's, and %s is the most: "+
		"set the clocks of both machines right, as by NTP, and start this controller again if it does not become ready then",
		ahead.Abs().Round(time.Millisecond), direction, maxApart)
}
