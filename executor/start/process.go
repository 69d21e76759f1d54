package start

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
)

// Process is a process that is to be started, in a leaf of its own.
type Process struct {
	initd.StartRequest

	Given    []*os.File // descriptors that come with the request, as it says
	Language string     // whose zygote may fork the process; "" for none
	NewLeaf  func(name string) (cgroup.Leaf, error)
	Leaf     *cgroup.Leaf // set to the leaf before the process can be there
}

// Start has init start a process: by a fork of the language's zygote, if there is one, or
// else in the ordinary way.
func (e *Engine) Start(ctx context.Context, s *Sandbox, st Process) (*initd.Output, error) {
	if err := s.Shortage.Await(ctx, s.Gone); err != nil {
		return nil, err
	}
	defer e.parkNext(s, st.Language)
	if p := e.parkedFor(s, st.Language, st.ID); p != nil {
		*st.Leaf, st.From = p.leaf, p.zygote
		out, err := s.startIn(ctx, p.leaf, st)
		if !e.refused(s, st, err) {
			return out, err
		}
		e.goes(func() { e.discard(s, p.leaf) })
	}
	leaf, err := st.NewLeaf(st.ID)
	if err != nil {
		return nil, err
	}
	if *st.Leaf, st.From = leaf, ""; !s.zygotes.parks {
		st.From = s.zygotes.id(st.Language)
	}
	out, err := s.startIn(ctx, leaf, st)
	if st.From != "" && e.refused(s, st, err) {
		st.From = ""
		out, err = s.startIn(ctx, leaf, st)
	}
	return out, err
}

// startIn has init start a process in the leaf. Meanwhile that gets its name.
func (s *Sandbox) startIn(ctx context.Context, leaf cgroup.Leaf, st Process) (*initd.Output, error) {
	files, err := leaf.Files()
	if err != nil {
		return nil, err
	}
	defer descriptor.CloseAll(files)
	out, _, err := s.Init.StartWhile(ctx, st.StartRequest, slices.Concat(st.Given, files), leaf.Name)
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
