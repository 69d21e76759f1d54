package controller

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// noteApart is how far a leader lets its clock and the store's be apart from what is noted
	// of it: jumps are to be seen by who begins, and how long a request takes is not.
	noteApart = time.Second
	// slowAnswer is how long the store may take to tell the time. An answer that took longer
	// says too little of when it was given.
	slowAnswer = time.Second
	asks       = 3 // for the time to begin with, where answers are slow
)

// ClockStore is a [Store] that has a clock, by which all who share it go.
type ClockStore interface {
	// StoreClock returns what the store's clock says now, and by how much the clocks of those
	// who share the store are behind it, as was noted last.
	StoreClock(ctx context.Context) (now time.Time, behind time.Duration, err error)
	// NoteBehind notes by how much they are.
	NoteBehind(ctx context.Context, behind time.Duration) error
}

// sharedClock leads the steady clock of a controller by the clock of its store. Sessions end
// by the difference of what one controller wrote and another reads: a machine whose clock is
// wrong, or is set, must not end those of the others. Where the store's own clock was set, the
// clocks of all go on as they did, led towards it alike; and a controller that begins meanwhile
// begins with what theirs say.
type sharedClock struct {
	store ClockStore
	clock *steadyClock
	begun bool // of who syncs alone

	mu     sync.Mutex
	offset time.Duration // of the store's clock to what has passed, as [steadyClock] counts it
}

// newSharedClock returns nil where the store has no clock, or a test its own.
func newSharedClock(store Store, clock Clock) *sharedClock {
	timed, ok := store.(ClockStore)
	steady, isSteady := clock.(*steadyClock)
	if !ok || !isSteady {
		return nil
	}
	return &sharedClock{store: timed, clock: steady}
}

// now is what the store's clock says, as far as is known.
func (s *sharedClock) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Unix(0, int64(s.offset+s.clock.passed()))
}

// ask notes what the store's clock says. It returns what is noted of it there.
func (s *sharedClock) ask(ctx context.Context) (behind time.Duration, err error) {
	for range asks {
		asked := s.clock.passed()
		now, noted, err := s.store.StoreClock(ctx)
		if err != nil {
			return 0, err
		}
		behind = noted
		took := s.clock.passed() - asked
		slow := took > slowAnswer
		if slow && s.begun {
			break // what is known is better
		}
		s.mu.Lock()
		s.offset = time.Duration(now.UnixNano()) - asked - took/2
		s.mu.Unlock()
		if !slow {
			break
		}
	}
	return behind, nil
}

// sync asks the store for the time. Who leads notes how far all are from it. It is called by
// one at a time.
func (s *sharedClock) sync(ctx context.Context, leads bool) error {
	if s == nil {
		return nil
	}
	behind, err := s.ask(ctx)
	if err != nil {
		return fmt.Errorf("asking the store for the time: %w", err)
	}
	if !s.begun {
		s.begun = true
		s.clock.begin(s.now().Add(-behind), s.now)
		return nil
	}
	apart := s.now().Sub(s.clock.Now())
	if !leads || (apart-behind).Abs() <= noteApart {
		return nil
	}
	if err := s.store.NoteBehind(ctx, apart); err != nil {
		return fmt.Errorf("noting how far the store's clock is away: %w", err)
	}
	return nil
}
