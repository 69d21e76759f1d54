package executor

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
)

// freezeTimeout bounds how long the processes of a sandbox may take to stop.
const freezeTimeout = 10 * time.Second

// PauseSandbox stops every process of the sandbox's executions: they keep their memory
// and get no CPU time. The timeouts of executions stand still. Files can be read and
// written meanwhile, nothing can be started. A sandbox that is paused stays so, also
// over a restart of the executor.
func (e *Executor) PauseSandbox(ctx context.Context, id string) (err error) {
	defer e.explainFull(&err)
	s, err := e.find(ctx, id)
	if err != nil {
		return err
	}
	s.Gate.Lock() // nothing is being started from here on
	defer s.Gate.Unlock()
	if err := s.CheckUsable(); err != nil || s.IsPaused() {
		return err
	}
	now := time.Now()
	if err := s.NotePause(&now, 0); err != nil {
		return err
	}
	for _, r := range s.allRuns() {
		r.clock.pause()
	}
	ctx, cancel := context.WithTimeout(ctx, freezeTimeout)
	defer cancel()
	if err := s.Group.Freeze(ctx); err != nil {
		return yurt.Errorf(yurt.CodeSandboxFailed, "pausing sandbox %s: %w", id, errors.Join(err, s.goOn(0)))
	}
	return nil
}

// ResumeSandbox lets a paused sandbox go on. One that is not paused it leaves alone.
func (e *Executor) ResumeSandbox(ctx context.Context, id string) (err error) {
	defer e.explainFull(&err)
	s, err := e.find(ctx, id)
	if err != nil {
		return err
	}
	s.Gate.Lock()
	defer s.Gate.Unlock()
	if err := s.CheckUsable(); err != nil || !s.IsPaused() {
		return err
	}
	if err := e.room.Spend(func() error { return s.goOn(time.Since(*s.Record.PausedAt)) }); err != nil {
		return yurt.Errorf(yurt.CodeSandboxFailed, "resuming sandbox %s: %w", id, err)
	}
	return nil
}

// goOn lets the sandbox go on after a pause that lasted so long.
func (s *handle) goOn(lasted time.Duration) error {
	if err := s.Group.Thaw(); err != nil {
		return err
	}
	for _, r := range s.allRuns() {
		r.clock.resume()
	}
	return s.NotePause(nil, lasted)
}

func (s *handle) allRuns() []*run {
	s.Lock()
	defer s.Unlock()
	runs := make([]*run, 0, len(s.runs))
	for _, r := range s.runs {
		runs = append(runs, r)
	}
	return runs
}

// timeLeft returns how much of a run's timeout is left, not counting pauses. It is never more
// than all of it: the clock may have been set back.
func (s *handle) timeLeft(record runRecord) (left time.Duration, running bool) {
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

// start calls expired when the time is up, unless the clock is stopped before.
func (c *clock) start(left time.Duration, running bool, expired func()) {
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

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}
