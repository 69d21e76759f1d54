package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/yurtrun/yurt/executor/cgroup"
)

// NewRun implements [RunCgroups].
func (l *Local) NewRun(sandboxID string, request RunRequest) (Run, error) {
	s, err := l.sandbox(sandboxID)
	if err != nil {
		return Run{}, err
	}
	if request.Ahead {
		return Run{}, s.enterAhead(request)
	}
	r, err := s.begin(request)
	if err != nil {
		return Run{}, err
	}
	defer r.mu.Unlock()
	files, err := s.makeRun(r, request)
	if err != nil {
		s.forget(request.ID, r)
		return Run{}, fmt.Errorf("making the cgroup of run %s: %w", request.ID, err)
	}
	return files, nil
}

// makeRun makes the cgroup of a run, or takes its place, and opens its files. The caller holds the run's lock.
func (s *listed) makeRun(r *listedRun, request RunRequest) (_ Run, err error) {
	if r.leaf, err = s.takeLeaf(request); err != nil {
		return Run{}, err
	}
	run, err := filesOf(r.leaf)
	if err != nil {
		return Run{}, errors.Join(err, r.giveUp())
	}
	return run, nil
}

func (s *listed) takeLeaf(request RunRequest) (cgroup.Leaf, error) {
	if request.Place == "" {
		return s.newLeaf(request.ID)
	}
	place, err := s.place(request.Place)
	if err != nil {
		return nil, err
	}
	return place, place.Take(request.ID)
}

// newLeaf makes the cgroup of a run. One that an executor before this one has made, and that has no process, is no obstacle.
func (s *listed) newLeaf(id string) (cgroup.Leaf, error) {
	leaf, err := s.group.TakeLeaf(id)
	if !errors.Is(err, os.ErrExist) {
		return leaf, err
	}
	had, failed := s.group.Find(id)
	if failed == nil {
		failed = had.Remove()
	}
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	return s.group.TakeLeaf(id)
}

// giveUp removes the cgroup of a run that could not be made whole. A place stays, to be ended as such.
func (r *listedRun) giveUp() error {
	leaf := r.leaf
	r.leaf = nil
	if r.place != "" {
		return nil
	}
	return leaf.Remove()
}

// NameRun implements [RunCgroups].
func (l *Local) NameRun(sandboxID, runID string) error {
	s, err := l.sandbox(sandboxID)
	if err != nil {
		return err
	}
	if err := checkRun(runID); err != nil {
		return err
	}
	if s.made(runID) == nil {
		if err := s.group.Reclaim(runID); err != nil {
			return err
		}
	}
	return s.withRun(runID, cgroup.Leaf.Name)
}

// OpenRun implements [RunCgroups].
func (l *Local) OpenRun(sandboxID, runID string) (usage *Meter, err error) {
	s, err := l.sandbox(sandboxID)
	if err != nil {
		return nil, err
	}
	err = s.withRun(runID, func(leaf cgroup.Leaf) (err error) {
		usage, err = leaf.Meter()
		return err
	})
	return usage, err
}

// KillRun implements [RunCgroups].
func (l *Local) KillRun(ctx context.Context, sandboxID, runID string) error {
	s, err := l.sandbox(sandboxID)
	if err != nil {
		return err
	}
	return s.withRun(runID, func(leaf cgroup.Leaf) error { return leaf.Kill(ctx) })
}

// EndRun implements [RunCgroups].
func (l *Local) EndRun(sandboxID, runID string) (Run, error) {
	s, err := l.sandbox(sandboxID)
	if err != nil {
		return Run{}, err
	}
	s.removeLeft()
	err = s.removeSoon(runID)
	if errors.Is(err, cgroup.ErrBusy) {
		s.leave(runID)
	} else if err != nil {
		return Run{}, err
	}
	return s.nextRun(l.Logger), nil
}

// leaveLimit is the time that the processes of a run have to leave its cgroup, which a killed process does a moment after it is gone.
const leaveLimit = 20 * time.Millisecond

// removeSoon removes the cgroup of a run, whose last processes may be about to end.
func (s *listed) removeSoon(id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
	defer cancel()
	for {
		err := s.remove(id)
		if !errors.Is(err, cgroup.ErrBusy) || ctx.Err() != nil {
			return err
		}
		watched := false
		err = s.withRun(id, func(leaf cgroup.Leaf) error { watched = leaf.AwaitEnds(ctx); return nil })
		if err != nil || watched {
			continue
		}
		select {
		case <-time.After(time.Millisecond): // newer kernels empty a cgroup a moment after the end of its processes
		case <-ctx.Done():
		}
	}
}

// remove removes the cgroup of a run.
func (s *listed) remove(id string) error {
	made := s.made(id)
	if err := s.withRun(id, cgroup.Leaf.Remove); err != nil || made == nil {
		return err
	}
	s.forget(id, made)
	s.setPlace(made.place, nil)
	return nil
}

// leave notes that a run has ended and left processes. Its cgroup is removed when these processes have ended too, and not only with its
// sandbox: the kernel has 65,535 cgroups that account for memory, for all sandboxes of the node.
func (s *listed) leave(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.left, id) {
		s.left = append(s.left, id)
	}
}

// leftChecks is how many runs with remaining processes are looked at whenever another run ends. With more than one there are never many
// more than are in use, and of those no more than the sandbox may have processes.
const leftChecks = 2

// removeLeft looks at those that were looked at the longest ago.
func (s *listed) removeLeft() {
	s.mu.Lock()
	n := min(leftChecks, len(s.left))
	taken := slices.Clone(s.left[:n])
	s.left = s.left[n:]
	s.mu.Unlock()
	for _, id := range taken {
		if errors.Is(s.remove(id), cgroup.ErrBusy) {
			s.leave(id)
		}
	}
}

// NewPlace implements [RunCgroups].
func (l *Local) NewPlace(sandboxID, id string) (*os.File, error) {
	s, err := l.sandbox(sandboxID)
	if err != nil {
		return nil, err
	}
	if err := checkRun(id); err != nil {
		return nil, err
	}
	place, err := s.group.NewPlace(id)
	if err != nil {
		return nil, err
	}
	entry, err := place.Entry()
	if err != nil {
		return nil, errors.Join(err, place.Remove())
	}
	s.setPlace(id, place)
	return entry, nil
}

// EndPlace implements [RunCgroups].
func (l *Local) EndPlace(ctx context.Context, sandboxID, id string) error {
	s, err := l.sandbox(sandboxID)
	if err != nil {
		return err
	}
	place, err := s.place(id)
	if err != nil {
		return err
	}
	s.setPlace(id, nil)
	if err := place.Discard(ctx); err != nil {
		s.setPlace(id, place) // to be ended again
		return err
	}
	return nil
}

// Gauge implements [RunCgroups].
func (l *Local) Gauge(sandboxID string) (Gauge, error) {
	s, err := l.sandbox(sandboxID)
	if err != nil {
		return nil, err
	}
	return s.group, nil
}

// WatchMemory implements [RunCgroups].
func (l *Local) WatchMemory(sandboxID string) (Alarm, error) {
	s, err := l.sandbox(sandboxID)
	if err != nil {
		return nil, err
	}
	return s.group.MemoryAlarm()
}
