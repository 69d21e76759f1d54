package executor

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/yurtrun/yurt/executor/cgroup"
	"github.com/yurtrun/yurt/executor/initd"
	"github.com/yurtrun/yurt/internal/linux/descriptor"
)

// starting is a process that is to be started, in a leaf of its own.
type starting struct {
	initd.StartRequest

	given    []*os.File // what the request says comes along
	language string     // whose zygote may fork the process; "" for none
	newLeaf  func(name string) (cgroup.Leaf, error)
	leaf     *cgroup.Leaf // is made the leaf before the process can be there
}

// startProcess has init start a process: by a fork of the language's zygote, if there is one, or
// else in the ordinary way.
func (e *Executor) startProcess(ctx context.Context, s *handle, st starting) (*initd.Output, error) {
	defer e.placeNext(s, st.language)
	if p := e.placeFor(s, st.language, st.ID); p != nil {
		*st.leaf, st.From = p.leaf, p.zygote
		out, err := s.startIn(ctx, p.leaf, st)
		if !e.refused(s, st, err) {
			return out, err
		}
		e.goes(func() { e.discard(s, p.leaf) })
	}
	leaf, err := st.newLeaf(st.ID)
	if err != nil {
		return nil, err
	}
	if *st.leaf, st.From = leaf, ""; !s.zygotes.placed {
		st.From = s.zygotes.id(st.language)
	}
	out, err := s.startIn(ctx, leaf, st)
	if st.From != "" && e.refused(s, st, err) {
		st.From = ""
		out, err = s.startIn(ctx, leaf, st)
	}
	return out, err
}

// startIn has init start a process in the leaf. Meanwhile that gets its name.
func (s *handle) startIn(ctx context.Context, leaf cgroup.Leaf, st starting) (*initd.Output, error) {
	files, err := leaf.Files()
	if err != nil {
		return nil, err
	}
	defer descriptor.CloseAll(files)
	out, _, err := s.Init.StartWhile(ctx, st.StartRequest, slices.Concat(st.given, files), leaf.Name)
	return out, err
}

// refused notes whether a fork came about, by the answer of init, and reports whether it did not.
func (e *Executor) refused(s *handle, st starting, err error) bool {
	failure := new(initd.Failure)
	refused := errors.As(err, &failure) && failure.Reason == initd.ReasonNoFork
	if s.zygotes.answered(st.language, !refused) {
		e.endZygote(s, st.language, st.From)
	}
	return refused
}
