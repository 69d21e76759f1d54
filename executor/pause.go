package executor

import (
	"context"
	"time"

	"github.com/yurtrun/yurt"
)

// PauseSandbox stops every process of the sandbox's executions: they keep their memory
// and get no CPU time. The timeouts of executions stand still. Files can be read and
// written meanwhile, no process can be started. A sandbox that is paused stays so, also
// over a restart of the executor.
func (e *Executor) PauseSandbox(ctx context.Context, id string) (err error) {
	defer e.disks.Explain(&err)
	s, err := e.Find(ctx, id)
	if err != nil {
		return err
	}
	s.Gate.Lock() // no process is being started from here on
	defer s.Gate.Unlock()
	if err := s.CheckUsable(); err != nil || s.IsPaused() {
		return err
	}
	return s.Pause(ctx)
}

// ResumeSandbox lets a paused sandbox go on. One that is not paused it leaves alone.
func (e *Executor) ResumeSandbox(ctx context.Context, id string) (err error) {
	defer e.disks.Explain(&err)
	s, err := e.Find(ctx, id)
	if err != nil {
		return err
	}
	s.Gate.Lock()
	defer s.Gate.Unlock()
	if err := s.CheckUsable(); err != nil || !s.IsPaused() {
		return err
	}
	if err := e.room.Spend(func() error { return s.Resume(time.Since(*s.Record.PausedAt)) }); err != nil {
		return yurt.Errorf(yurt.CodeSandboxFailed, "resuming sandbox %s: %w", id, err)
	}
	return nil
}
