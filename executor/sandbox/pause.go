package sandbox

import (
	"context"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/records"
	"github.com/yurtrun/yurt/executor/statedir"
)

// NotePause writes down that the sandbox is paused since at, or that it is not any
// more and was for so long. It is for the holder of the gate. When it fails, the sandbox is as it was.
func (s *Sandbox) NotePause(at *time.Time, lasted time.Duration) error {
	s.mu.Lock()
	record := s.Record
	s.mu.Unlock()
	record.PausedAt, record.PausedFor = at, record.PausedFor+lasted
	if err := records.Write(s.Path(statedir.Record), record); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Record.PausedAt, s.Record.PausedFor = record.PausedAt, record.PausedFor
	return nil
}

// IsPaused reports whether the sandbox is paused.
func (s *Sandbox) IsPaused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Record.PausedAt != nil
}

// CheckRunning returns an error while the sandbox is paused.
func (s *Sandbox) CheckRunning() error {
	if s.IsPaused() {
		return yurt.Errorf(yurt.CodeIllegalTransition, "sandbox %s is paused; resume it before anything is started in it", s.id)
	}
	return nil
}

// AdoptPause finds the sandbox as its record says: a crash may have come in between.
func (s *Sandbox) AdoptPause(ctx context.Context) error {
	if s.Record.PausedAt != nil {
		return s.Broker.Freeze(ctx, s.id)
	}
	return s.Broker.Thaw(s.id)
}
