package slots

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
)

// Sandbox is the sandbox of a slot.
type Sandbox interface {
	comparable

	ID() string
	IsReady() bool // it can be used: an earlier node's is taken over first
	IsTaken() bool // it has an owner, or is about to
	IsGone() bool  // it has died, or is being destroyed
}

// Slot is the live handle of a slot; its record holds all that must last. Its keeper makes its sandboxes, one after the other.
type Slot[S Sandbox] struct {
	Spec   yurt.SlotSpec
	Digest string // of its template

	ctx    context.Context //nolint:containedctx // it is the slot's life: done when it is closed, or the node is
	stop   context.CancelFunc
	kept   chan struct{} // closed when the keeper has left
	over   chan struct{} // closed when it has ended
	closed chan struct{} // closed when the slot is forgotten
	once   sync.Once     // to close it

	mu      sync.Mutex
	sandbox S // its present sandbox, or the zero value
	ended   time.Time
	failed  bool
	reason  string        // that it ended, or that its sandbox is not there yet
	hurry   chan struct{} // closed when a caller waits for its next sandbox
	hurried bool          // a caller does
}

// newSlot returns the handle of a slot that has no keeper yet.
func (l *Set[S]) newSlot(spec yurt.SlotSpec) *Slot[S] {
	sl := &Slot[S]{
		Spec: spec, Digest: spec.Template.Digest(),
		kept: make(chan struct{}), over: make(chan struct{}), closed: make(chan struct{}), hurry: make(chan struct{}),
	}
	sl.ctx, sl.stop = context.WithCancel(l.ctx) //nolint:gosec // shut calls it, or the node's end comes first
	return sl
}

// Kept returns a channel that is closed when the slot gets no more sandboxes.
func (sl *Slot[S]) Kept() <-chan struct{} { return sl.kept }

// Admits returns the reason why a claim of the slot's template cannot have its sandbox, or nil.
func (sl *Slot[S]) Admits(spec yurt.SandboxSpec) error {
	room := sl.Spec.Resources
	switch {
	case !spec.Claimable(sl.Spec.For):
		return yurt.FieldErrorf(yurt.CodeForbidden, "slot", "slot %s is another session's", sl.Spec.ID)
	case !spec.Rebindable(room):
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources", "the sandbox of slot %s was made with limits that cannot be changed to these any more", sl.Spec.ID)
	case !spec.Resources.Fits(room):
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources", "more was asked for than slot %s has room for, which is cpu %v, memory %s, disk %s, pids %d",
			sl.Spec.ID, room.CPU, room.Memory, room.Disk, room.PIDs)
	}
	return nil
}

// Fill gives the slot its sandbox.
func (sl *Slot[S]) Fill(s S) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	sl.sandbox, sl.reason = s, ""
	sl.calm()
}

// Current returns the slot's sandbox, or the zero value.
func (sl *Slot[S]) Current() S {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	return sl.sandbox
}

// clear takes the sandbox out and notes the reason, unless the slot has ended.
func (sl *Slot[S]) clear(why string) {
	var none S
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.ended.IsZero() {
		sl.sandbox, sl.reason = none, why
	}
}

// IsOver reports whether it has ended.
func (sl *Slot[S]) IsOver() bool {
	select {
	case <-sl.over:
		return true
	default:
		return false
	}
}

// View is the slot as the node describes it.
func (sl *Slot[S]) View() yurt.Slot {
	var none S
	sl.mu.Lock()
	defer sl.mu.Unlock()
	view := yurt.Slot{
		ID: sl.Spec.ID, Template: sl.Spec.Template.Name, Digest: sl.Digest, For: sl.Spec.For, Once: sl.Spec.Once,
		State: yurt.SlotMaking, Reason: sl.reason, Failed: sl.failed, Labels: sl.Spec.Labels,
	}
	switch s := sl.sandbox; {
	case !sl.ended.IsZero():
		view.State = yurt.SlotEnded
	case s == none, !s.IsTaken() && !s.IsReady():
	case s.IsTaken() && s.IsGone() && !sl.Spec.Once: // which its keeper is about to see
	default:
		view.SandboxID, view.State = s.ID(), yurt.SlotReady
		if s.IsTaken() {
			view.State = yurt.SlotClaimed
		}
	}
	return view
}

// again answers a caller that opens a slot which exists already.
func (sl *Slot[S]) again(spec yurt.SlotSpec) (yurt.Slot, error) {
	had := sl.Spec
	same := spec.Template.Digest() == sl.Digest && spec.Resources == had.Resources && spec.For == had.For && spec.Once == had.Once && maps.Equal(spec.Labels, had.Labels)
	if !same {
		return yurt.Slot{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, "id", "slot %s is open already, and asks for something else; close it, or give another id", spec.ID)
	}
	if sl.ctx.Err() != nil && !sl.IsOver() {
		return yurt.Slot{}, yurt.Errorf(yurt.CodeUnavailable, "slot %s is being closed; open it again in a moment", spec.ID)
	}
	return sl.View(), nil
}

// BeHurried has the slot's next sandbox made without delay, unless it has one, cannot make
// any, or was asked before.
func (sl *Slot[S]) BeHurried() bool {
	var none S
	sl.mu.Lock()
	defer sl.mu.Unlock()
	left := sl.sandbox == none || !sl.Spec.Once && sl.sandbox.IsTaken() && sl.sandbox.IsGone()
	if !left || sl.hurried || !sl.ended.IsZero() || sl.reason != "" || sl.ctx.Err() != nil {
		return false
	}
	sl.hurried = true
	close(sl.hurry)
	return true
}

// calm notes that no caller waits for the slot's next sandbox, and reports whether one did. The lock is held.
func (sl *Slot[S]) calm() bool {
	if !sl.hurried {
		return false
	}
	sl.hurried, sl.hurry = false, make(chan struct{})
	return true
}

// Hurrying returns a channel that is closed when a caller waits for the slot's next sandbox.
func (sl *Slot[S]) Hurrying() <-chan struct{} {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	return sl.hurry
}
