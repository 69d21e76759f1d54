package sandbox

import "github.com/yurtrun/yurt/executor/broker"

// keepNext keeps the files of the cgroup that the broker has made ahead, for the next run. A handle that is closed keeps none.
func (s *Sandbox) keepNext(run broker.Run) {
	if run.Usage == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.next.Usage != nil {
		run.Close()
		return
	}
	s.next = run
}

// TakeNext returns the files of the cgroup that was made ahead, for the caller's run alone. The caller closes them, and enters the run, see
// [broker.RunRequest]. It returns false if there is no such cgroup.
func (s *Sandbox) TakeNext() (broker.Run, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.next
	s.next = broker.Run{}
	return run, run.Usage != nil
}

// EndRun has the cgroup of a run removed that has ended, and keeps the next one, which the broker makes ahead.
func (s *Sandbox) EndRun(runID string) error {
	next, err := s.Broker.EndRun(s.id, runID)
	s.keepNext(next)
	return err
}

// Started takes over the init, the commands and the files of the sandbox that the broker has started.
func (s *Sandbox) Started(started broker.Started) {
	s.Record.Init, s.Record.Path, s.Gauge = started.Init, started.Commands, started.Gauge
	s.keepNext(started.Next)
}
