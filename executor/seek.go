package executor

import (
	"context"
	"slices"

	"github.com/yurtrun/yurt"
)

// seeker waits for a sandbox of a template that nobody has.
type seeker struct {
	digest string
	fits   func(*sandbox) bool
	given  chan *sandbox // holds the one that it was given; that is its own alone
}

// seek takes out the oldest sandbox of the template that fits, as take does. If there is
// none, the caller is in line for the next ones, until it is given one or leaves.
func (r *reserves) seek(digest string, fits func(*sandbox) bool) (*sandbox, *seeker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.takeNow(digest, fits); s != nil {
		return s, nil
	}
	in := &seeker{digest: digest, fits: fits, given: make(chan *sandbox, 1)}
	r.line[digest] = append(r.line[digest], in)
	return nil, in
}

// leave takes a seeker out of the line. What it was given all the same is returned.
func (r *reserves) leave(in *seeker) *sandbox {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.line[in.digest], in); i >= 0 {
		r.letGo(in.digest, i)
		return nil
	}
	return <-in.given
}

// give gives a sandbox that nobody has to who has waited longest for one like it. The lock
// is held.
func (r *reserves) give(s *sandbox) bool {
	i := slices.IndexFunc(r.line[s.digest], func(in *seeker) bool { return in.fits(s) })
	if i < 0 {
		return false
	}
	in := r.line[s.digest][i]
	r.letGo(s.digest, i)
	s.taken.Store(true)
	in.given <- s
	return true
}

// letGo is called with the lock held.
func (r *reserves) letGo(digest string, i int) {
	if r.line[digest] = slices.Delete(r.line[digest], i, i+1); len(r.line[digest]) == 0 {
		delete(r.line, digest)
	}
}

// putBack makes a sandbox that was taken, and of which nothing has been changed, one that
// nobody has.
func (r *reserves) putBack(s *sandbox) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.isGone() {
		return // and dropped, which it would not be again
	}
	s.taken.Store(false)
	r.add(s)
}

// awaitNext hands out the next sandbox of the template that becomes ready in a slot of
// anybody's. It fails at once unless one is made that nobody waits for yet: so each who
// waits has one coming, which is made before what nobody waits for.
func (e *Executor) awaitNext(ctx context.Context, spec yurt.SandboxSpec) (yurt.Sandbox, error) {
	phases := newPhases()
	if err := e.admitClaim(ctx, spec); err != nil {
		return yurt.Sandbox{}, err
	}
	digest := spec.Template.Digest()
	s, in := e.reserves.seek(digest, func(s *sandbox) bool { return s.admits(spec) == nil })
	if in != nil {
		var err error
		if s, err = e.inLine(ctx, in, spec); err != nil {
			return yurt.Sandbox{}, err
		}
	}
	if err := e.admitClaim(ctx, spec); err != nil { // the node may drain by now
		e.reserves.putBack(s)
		e.bells.Ring(s.slotID())
		return yurt.Sandbox{}, err
	}
	e.tally.add(digest, spec.Template.Name, claimed)
	return e.handOver(ctx, s, spec, phases)
}

// inLine waits until the seeker is given a sandbox.
func (e *Executor) inLine(ctx context.Context, in *seeker, spec yurt.SandboxSpec) (*sandbox, error) {
	err := e.hurry(in.digest, spec)
	if err == nil {
		select {
		case s := <-in.given:
			return s, nil
		case <-ctx.Done():
			err = ctx.Err()
		case <-e.ctx.Done():
			err = errShuttingDown()
		}
	}
	if s := e.reserves.leave(in); s != nil {
		return s, nil
	}
	return nil, err
}

// hurry has a slot that makes a sandbox for nobody yet make it now.
func (e *Executor) hurry(digest string, spec yurt.SandboxSpec) error {
	for _, sl := range e.slots.list() {
		if sl.digest == digest && sl.spec.For == "" && sl.admits(spec) == nil && sl.beHurried() {
			return nil
		}
	}
	e.tally.add(digest, spec.Template.Name, refusal)
	return yurt.Errorf(yurt.CodeNotFound, "no sandbox of that template is about to be ready here")
}

// beHurried has the slot's next sandbox made without delay, unless it has one, cannot make
// any, or was asked before.
func (sl *slot) beHurried() bool {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	left := sl.sandbox == nil || !sl.spec.Once && sl.sandbox.taken.Load() && sl.sandbox.isGone()
	if !left || sl.hurried || !sl.ended.IsZero() || sl.reason != "" || sl.ctx.Err() != nil {
		return false
	}
	sl.hurried = true
	close(sl.hurry)
	return true
}

// calm says that nobody waits for the slot's next sandbox. The lock is held.
func (sl *slot) calm() {
	if sl.hurried {
		sl.hurried, sl.hurry = false, make(chan struct{})
	}
}

// hurrying returns a channel that is closed when somebody waits for the slot's next sandbox.
func (sl *slot) hurrying() <-chan struct{} {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	return sl.hurry
}
