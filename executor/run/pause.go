package run

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
)

// freezeTimeout bounds how long the processes of a sandbox may take to stop.
const freezeTimeout = 10 * time.Second

// Pause stops the sandbox, and the clocks of its executions. The caller has the gate.
func (s *Sandbox) Pause(ctx context.Context) error {
	now := time.Now()
	if err := s.NotePause(&now, 0); err != nil {
		return err
	}
	for _, r := range s.allRuns() {
		r.Clock.pause()
	}
	ctx, cancel := context.WithTimeout(ctx, freezeTimeout)
	defer cancel()
	if err := s.Broker.Freeze(ctx, s.ID()); err != nil {
		return yurt.Errorf(yurt.CodeSandboxFailed, "pausing sandbox %s: %w", s.ID(), errors.Join(err, s.Resume(0)))
	}
	return nil
}

// Resume lets the sandbox go on after a pause that lasted so long.
func (s *Sandbox) Resume(lasted time.Duration) error {
	if err := s.Broker.Thaw(s.ID()); err != nil {
		return err
	}
	for _, r := range s.allRuns() {
		r.Clock.resume()
	}
	return s.NotePause(nil, lasted)
}

func (s *Sandbox) allRuns() []*Run {
	s.Lock()
	defer s.Unlock()
	runs := make([]*Run, 0, len(s.runs))
	for _, r := range s.runs {
		runs = append(runs, r)
	}
	return runs
}

// timeLeft returns how much of a run's timeout is left, not counting pauses. It is never more
// than all of it: the clock may have been set back.
func (s *Sandbox) timeLeft(record Record) (left time.Duration, running bool) {
	s.Lock()
	defer s.Unlock()
	deadline := record.Deadline.Add(s.Record.PausedFor - record.PausedBefore)
	if at := s.Record.PausedAt; at != nil {
		return min(deadline.Sub(*at), record.Timeout.Std()), false
	}
	return min(time.Until(deadline), record.Timeout.Std()), true
}

// clock measures the timeout of a run.
type clock struct {
	mu       sync.Mutex
	timer    *time.Timer // nil before start and after stop
	deadline time.Time
	left     time.Duration // while it stands still
	still    bool
}

// Start calls expired when the time is up, unless the clock is stopped before.
func (c *clock) Start(left time.Duration, running bool, expired func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline, c.left, c.still = time.Now().Add(left), left, !running
	c.timer = time.AfterFunc(left, expired)
	if c.still {
		c.timer.Stop()
	}
}

func (c *clock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer == nil || c.still {
		return
	}
	c.timer.Stop()
	c.left, c.still = time.Until(c.deadline), true
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer == nil || !c.still {
		return
	}
	c.deadline, c.still = time.Now().Add(c.left), false
	c.timer.Reset(c.left)
}

// Stop ends the clock; expired is not called any more.
func (c *clock) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}
