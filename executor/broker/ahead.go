package broker

import (
	"errors"
	"log/slog"
	"strings"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
)

// nextRun makes the cgroup of a sandbox's next run, and returns its files. A sandbox has one such cgroup at most, which goes with it. The
// run is not known yet. A sandbox without a cgroup ahead has its next run wait for one, which is no error.
func (s *listed) nextRun(logger *slog.Logger) Run {
	s.nexts.Lock()
	defer s.nexts.Unlock()
	if s.ahead != nil {
		return Run{}
	}
	if s.isBusy() { // its runs have the files that the executor may have open for a sandbox
		if err := s.group.Prepare(); err != nil {
			logger.Debug("preparing for the next execution", "sandbox", s.id, "error", err)
		}
		return Run{}
	}
	leaf, err := s.group.Ahead()
	if err != nil {
		logger.Debug("preparing for the next execution", "sandbox", s.id, "error", err)
		return Run{}
	}
	run, err := filesOf(leaf)
	if err != nil {
		logger.Debug("preparing for the next execution", "sandbox", s.id, "error", errors.Join(err, leaf.Remove()))
		return Run{}
	}
	s.ahead = leaf
	return run
}

// isBusy reports whether the sandbox has runs of this broker's, zygotes aside.
func (s *listed) isBusy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.runs {
		if !strings.HasPrefix(id, ZygotePrefix) {
			return true
		}
	}
	return false
}

// filesOf opens the files of a new cgroup.
func filesOf(leaf cgroup.Leaf) (Run, error) {
	birth, err := leaf.Files()
	if err != nil {
		return Run{}, err
	}
	usage, err := leaf.Meter()
	if err != nil {
		descriptor.CloseAll(birth)
		return Run{}, err
	}
	return Run{Birth: birth, Usage: usage}, nil
}

// enterAhead enters the run that begins in the cgroup that was made ahead, and names the cgroup. The run is on the list also when the
// cgroup could not be named: it can be ended there.
func (s *listed) enterAhead(request RunRequest) error {
	if request.Place != "" {
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "place", "a run begins in a place or in the cgroup that was made ahead; leave one of them out")
	}
	r, err := s.begin(request)
	if err != nil {
		return err
	}
	defer r.mu.Unlock()
	s.nexts.Lock()
	r.leaf, s.ahead = s.ahead, nil
	s.nexts.Unlock()
	if r.leaf == nil {
		s.forget(request.ID, r)
		return yurt.FieldErrorf(yurt.CodeInvalidArgument, "ahead", "sandbox %s has no cgroup that was made ahead; ask for one of the run's own", s.id)
	}
	return r.leaf.NameAfter(request.ID)
}
