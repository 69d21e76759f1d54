package executor

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/yurtrun/yurt"
)

// reserves are the sandboxes that are ready and nobody's, by the digest of their
// template, oldest first. What a slot keeps ready is here as well as what was put here
// for no slot.
type reserves struct {
	mu   sync.Mutex
	of   map[string][]*sandbox // none is empty
	line map[string][]*seeker  // who waits for one, the first one first; none is empty
}

func newReserves() *reserves {
	return &reserves{of: make(map[string][]*sandbox), line: make(map[string][]*seeker)}
}

// put adds a sandbox that nobody has. Who waits for one has it.
func (r *reserves) put(s *sandbox) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(s)
}

// add is called with the lock held.
func (r *reserves) add(s *sandbox) {
	if !r.give(s) {
		r.of[s.digest] = append(r.of[s.digest], s)
	}
}

// take takes out the oldest sandbox of the template that fits. It is the caller's alone
// from then on. nil means that there is none.
func (r *reserves) take(digest string, fits func(*sandbox) bool) *sandbox {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.takeNow(digest, fits)
}

// takeNow is called with the lock held.
func (r *reserves) takeNow(digest string, fits func(*sandbox) bool) *sandbox {
	i := slices.IndexFunc(r.of[digest], func(s *sandbox) bool { return !s.isGone() && fits(s) })
	if i < 0 {
		return nil
	}
	s := r.of[digest][i]
	s.taken.Store(true)
	r.remove(digest, i)
	return s
}

// drop takes out a sandbox that is gone. Afterwards nobody can take it.
func (r *reserves) drop(s *sandbox) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.of[s.digest], s); i >= 0 {
		r.remove(s.digest, i)
	}
}

// remove is called with the lock held.
func (r *reserves) remove(digest string, i int) {
	if r.of[digest] = slices.Delete(r.of[digest], i, i+1); len(r.of[digest]) == 0 {
		delete(r.of, digest)
	}
}

// list returns all that can be taken.
func (r *reserves) list() []*sandbox {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*sandbox
	for _, digest := range slices.Sorted(maps.Keys(r.of)) {
		for _, s := range r.of[digest] {
			if !s.isGone() {
				list = append(list, s)
			}
		}
	}
	return list
}

// ReserveSandbox makes a sandbox of the template that nobody owns yet, with the limits
// that the template gives. The next [Executor.ClaimSandbox] gets it, once.
func (e *Executor) ReserveSandbox(ctx context.Context, template yurt.Template) (yurt.Sandbox, error) {
	if err := e.installAhead(ctx, template); err != nil {
		return yurt.Sandbox{}, err
	}
	spec := yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: template, Resources: template.Resources.Or(yurt.DefaultResources())}
	return e.make(ctx, spec, purpose{warm: true})
}

// Reserves says what can be claimed of what [Executor.ReserveSandbox] made; what is in
// slots, [Executor.Slots] says.
func (e *Executor) Reserves(context.Context) ([]yurt.Reserve, error) {
	list := []yurt.Reserve{}
	for _, s := range e.reserves.list() {
		switch last := len(list) - 1; {
		case s.slot != nil:
		case last >= 0 && list[last].Digest == s.digest:
			list[last].Ready++
		default:
			list = append(list, yurt.Reserve{Template: s.template, Digest: s.digest, Ready: 1})
		}
	}
	return list, nil
}

// ReleaseReserve destroys one sandbox of the template with the digest that
// [Executor.ReserveSandbox] made and nobody has claimed, if there is any.
func (e *Executor) ReleaseReserve(ctx context.Context, digest string) error {
	s := e.reserves.take(digest, func(s *sandbox) bool { return s.slot == nil })
	if s == nil {
		return nil
	}
	return e.DestroySandbox(ctx, s.id)
}
