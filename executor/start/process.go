package start

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/yurtrun/yurt/executor/broker"
	"github.com/yurtrun/yurt/executor/initd"
)

// Process is a process that is to be started, in a cgroup of its own.
type Process struct {
	initd.StartRequest

	Given    []*os.File // descriptors that come with the request, as it says
	Language string     // whose zygote may fork the process; "" forks no zygote
	Named    bool       // the cgroup has its name before the process is there, and not while it is born, which is faster

	enter func() error // enters and names the run in a cgroup that was made ahead, once; nil for another run
}

// Start has init start a process: by a fork of the language's zygote, if there is one, or
// else in the ordinary way. The caller closes the output and the usage of the process.
func (e *Engine) Start(ctx context.Context, s *Sandbox, st Process) (*initd.Output, *broker.Meter, error) {
	if err := s.Shortage.Await(ctx, s.Gone); err != nil {
		return nil, nil, err
	}
	defer e.parkNext(s, st.Language)
	if run, p := e.parkedFor(s, st.Language, st.ID); p != nil {
		st.From = p.zygote
		out, err := s.startIn(ctx, run, st)
		if !e.refused(s, st, err) {
			return begun(run, out, err)
		}
		run.Close()
		e.goes(func() { e.discard(s, p.place) })
	}
	run, err := s.newRun(&st)
	if err != nil {
		return nil, nil, err
	}
	if st.From = ""; !s.zygotes.parks {
		st.From = s.zygotes.id(st.Language)
	}
	out, err := s.startIn(ctx, run, st)
	if st.From != "" && e.refused(s, st, err) {
		st.From = ""
		out, err = s.startIn(ctx, run, st)
	}
	return begun(run, out, err)
}

// begun closes the files of a run but for its usage, and that too if it has not begun.
func begun(run broker.Run, out *initd.Output, err error) (*initd.Output, *broker.Meter, error) {
	if err != nil {
		run.Close()
		return nil, nil, err
	}
	run.CloseBirth()
	return out, run.Usage, nil
}

// newRun returns the cgroup that was made ahead, or else a new one.
func (s *Sandbox) newRun(st *Process) (broker.Run, error) {
	if run, ok := s.TakeNext(); ok {
		st.enter = sync.OnceValue(func() error {
			_, err := s.Broker.NewRun(s.ID(), broker.RunRequest{ID: st.ID, Ahead: true})
			return err
		})
		return run, nil
	}
	return s.Broker.NewRun(s.ID(), broker.RunRequest{ID: st.ID})
}

// startIn has init start a process in the cgroup of a run. That gets its name before or meanwhile. A run in the cgroup that was made ahead
// is entered, also when its process does not start: it is ended like any other.
func (s *Sandbox) startIn(ctx context.Context, run broker.Run, st Process) (*initd.Output, error) {
	name := func() error { return s.Broker.NameRun(s.ID(), st.ID) }
	if st.enter != nil {
		name = st.enter
		defer func() { _ = st.enter() }()
	}
	if st.Named {
		if err := name(); err != nil {
			return nil, err
		}
		name = nil
	}
	out, _, err := s.Init.StartWhile(ctx, st.StartRequest, slices.Concat(st.Given, run.Birth), name)
	return out, err
}

// refused notes whether a fork came about, by the answer of init, and reports whether it did not.
func (e *Engine) refused(s *Sandbox, st Process, err error) bool {
	failure := new(initd.Failure)
	refused := errors.As(err, &failure) && failure.Reason == initd.ReasonNoFork
	if s.zygotes.answered(st.Language, !refused) {
		e.endZygote(s, st.Language, st.From)
	}
	return refused
}
