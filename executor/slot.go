package executor

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/bells"
)

// slot is the live handle of a slot; what must last is in its record. Its keeper makes
// its sandboxes, one after the other.
type slot struct {
	spec   yurt.SlotSpec
	digest string // of its template

	ctx    context.Context //nolint:containedctx // it is the slot's life: done when it is closed, or the executor is
	stop   context.CancelFunc
	kept   chan struct{} // closed when the keeper has left
	over   chan struct{} // closed when it has ended
	closed chan struct{} // closed when nothing is left of it
	once   sync.Once     // to close it

	mu      sync.Mutex
	sandbox *sandbox // that it has now; nil while there is none
	ended   time.Time
	failed  bool
	reason  string        // that it ended, or that its sandbox is not there yet
	hurry   chan struct{} // closed when somebody waits for its next sandbox
	hurried bool          // somebody does
}

// newSlot returns the handle of a slot that has no keeper yet.
func (e *Executor) newSlot(spec yurt.SlotSpec) *slot {
	sl := &slot{
		spec: spec, digest: spec.Template.Digest(),
		kept: make(chan struct{}), over: make(chan struct{}), closed: make(chan struct{}), hurry: make(chan struct{}),
	}
	sl.ctx, sl.stop = context.WithCancel(e.ctx)
	return sl
}

// admits reports why who asks for that, of the slot's template, cannot have its sandbox.
func (sl *slot) admits(spec yurt.SandboxSpec) error {
	room := sl.spec.Resources
	switch {
	case !spec.Claimable(sl.spec.For):
		return yurt.FieldErrorf(yurt.CodeForbidden, "slot", "slot %s is another session's", sl.spec.ID)
	case !spec.Rebindable(room):
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources", "the sandbox of slot %s was made with limits that cannot be changed to these any more", sl.spec.ID)
	case !spec.Resources.Fits(room):
		return yurt.FieldErrorf(yurt.CodeLimitOutOfRange, "resources", "more was asked for than slot %s has room for, which is cpu %v, memory %s, disk %s, pids %d",
			sl.spec.ID, room.CPU, room.Memory, room.Disk, room.PIDs)
	}
	return nil
}

// fill gives the slot its sandbox.
func (sl *slot) fill(s *sandbox) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	sl.sandbox, sl.reason = s, ""
	sl.calm()
}

// current returns the sandbox that it has, nil for none.
func (sl *slot) current() *sandbox {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	return sl.sandbox
}

// clear takes the sandbox out and says why there is none, unless the slot has ended.
func (sl *slot) clear(why string) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.ended.IsZero() {
		sl.sandbox, sl.reason = nil, why
	}
	if why != "" { // who waits for it would wait for long
		sl.calm()
	}
}

// isOver reports whether it has ended.
func (sl *slot) isOver() bool {
	select {
	case <-sl.over:
		return true
	default:
		return false
	}
}

// view is what the node says of it.
func (sl *slot) view() yurt.Slot {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	view := yurt.Slot{
		ID: sl.spec.ID, Template: sl.spec.Template.Name, Digest: sl.digest, For: sl.spec.For, Once: sl.spec.Once,
		State: yurt.SlotMaking, Reason: sl.reason, Failed: sl.failed, Labels: sl.spec.Labels,
	}
	switch {
	case !sl.ended.IsZero():
		view.State = yurt.SlotEnded
	case sl.sandbox == nil:
	default:
		view.SandboxID, view.State = sl.sandbox.id, yurt.SlotReady
		if sl.sandbox.IsTaken() {
			view.State = yurt.SlotClaimed
		}
	}
	return view
}

// slots are the slots of the node.
type slots struct {
	dir      string // of their records
	refusals refusals

	mu   sync.Mutex
	byID map[string]*slot
}

func newSlots(dir string) *slots { return &slots{dir: dir, byID: make(map[string]*slot)} }

// list returns them by id.
func (l *slots) list() []*slot {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]*slot, 0, len(l.byID))
	for _, id := range slices.Sorted(maps.Keys(l.byID)) {
		list = append(list, l.byID[id])
	}
	return list
}

// slot returns the slot of that id, nil for none.
func (e *Executor) slot(id string) *slot {
	e.slots.mu.Lock()
	defer e.slots.mu.Unlock()
	return e.slots.byID[id]
}

// OpenSlot opens a slot: from here on the node keeps one sandbox ready in it, also after
// it was started again, until the slot is closed or ends. It returns once that is
// recorded, with the sandbox being made. Opening what is open already changes nothing.
func (e *Executor) OpenSlot(ctx context.Context, spec yurt.SlotSpec) (yurt.Slot, error) {
	slot, err := e.openSlot(ctx, spec)
	if e.slots.refusals.note(spec.ID, err, time.Now()) {
		e.bells.Ring(spec.ID)
	}
	return slot, err
}

func (e *Executor) openSlot(ctx context.Context, spec yurt.SlotSpec) (yurt.Slot, error) {
	if err := e.admitSlot(spec); err != nil {
		return yurt.Slot{}, err
	}
	if err := ctx.Err(); err != nil {
		return yurt.Slot{}, err
	}
	e.slots.mu.Lock()
	defer e.slots.mu.Unlock()
	if sl := e.slots.byID[spec.ID]; sl != nil {
		return sl.again(spec)
	}
	if e.draining.Load() {
		return yurt.Slot{}, errDraining()
	}
	e.slots.forgetEnded(time.Now())
	if open := len(e.slots.byID); open >= e.config.MaxSandboxes {
		return yurt.Slot{}, overloaded(retrySandboxes, "this node has %d slots, as many as it may; try again when some have ended", open)
	}
	sl := e.newSlot(spec)
	if err := e.slots.write(sl); err != nil {
		return yurt.Slot{}, err
	}
	if err := e.serve(func() { e.keepSlot(sl) }); err != nil {
		return yurt.Slot{}, errors.Join(err, e.slots.remove(spec.ID))
	}
	e.slots.byID[spec.ID] = sl
	e.bells.Ring(spec.ID)
	return sl.view(), nil
}

// admitSlot refuses slots in which this node could make no sandbox.
func (e *Executor) admitSlot(spec yurt.SlotSpec) error {
	if err := spec.Validate(); err != nil {
		return err
	}
	probe := yurt.SandboxSpec{ID: yurt.NewSandboxID(), Template: spec.Template, Resources: spec.Resources}
	if err := e.admit(probe); err != nil {
		return err
	}
	_, err := e.layout(yurt.SandboxSpec{Template: spec.Template})
	return err
}

// again answers who opens a slot that is there.
func (sl *slot) again(spec yurt.SlotSpec) (yurt.Slot, error) {
	had := sl.spec
	same := spec.Template.Digest() == sl.digest && spec.Resources == had.Resources && spec.For == had.For && spec.Once == had.Once && maps.Equal(spec.Labels, had.Labels)
	if !same {
		return yurt.Slot{}, yurt.FieldErrorf(yurt.CodeInvalidArgument, "id", "slot %s is open already, and asks for something else; close it, or give another id", spec.ID)
	}
	if sl.ctx.Err() != nil && !sl.isOver() {
		return yurt.Slot{}, yurt.Errorf(yurt.CodeUnavailable, "slot %s is being closed; open it again in a moment", spec.ID)
	}
	return sl.view(), nil
}

// CloseSlot ends a slot and destroys the sandbox that it has, whoever has claimed it. It
// returns when the slot is forgotten. A slot that is not known is no error.
func (e *Executor) CloseSlot(ctx context.Context, id string) error {
	sl := e.slot(id)
	if sl == nil {
		return nil
	}
	var err error
	sl.once.Do(func() { err = e.serve(func() { e.shut(sl) }) })
	if err != nil {
		return err
	}
	select {
	case <-sl.closed:
		return nil
	case <-ctx.Done():
		return ctx.Err() // it goes on
	case <-e.ctx.Done():
		return errShuttingDown()
	}
}

// WaitSlot returns once the slot has ended, with the reason.
func (e *Executor) WaitSlot(ctx context.Context, id string) (yurt.Slot, error) {
	sl := e.slot(id)
	if sl == nil {
		return yurt.Slot{}, yurt.FieldErrorf(yurt.CodeNotFound, "id", "this node has no slot %q", id)
	}
	select {
	case <-sl.over:
		return sl.view(), nil
	case <-ctx.Done():
		return yurt.Slot{}, ctx.Err()
	case <-e.ctx.Done():
		return yurt.Slot{}, errShuttingDown()
	}
}

// Slots lists every slot of this node by its id, those that have ended and were not
// closed yet included.
func (e *Executor) Slots(context.Context) ([]yurt.Slot, error) {
	list := e.slots.list()
	views := make([]yurt.Slot, len(list))
	for i, sl := range list {
		views[i] = sl.view()
	}
	return views, nil
}

// watchPause is how often watchers of the whole node are told of changes at the most.
const watchPause = 50 * time.Millisecond

// WatchSlots calls each with all slots, at once and again when something about one has
// changed, until ctx is done or each returns an error. Given the id of one, which need not
// be open yet, it tells of that alone.
func (e *Executor) WatchSlots(ctx context.Context, id string, each func([]yurt.Slot) error) error {
	return e.watchNode(ctx, id, func() error {
		if id != bells.Any {
			return each(e.viewOf(id))
		}
		list, err := e.Slots(ctx)
		if err != nil {
			return err
		}
		return each(list)
	})
}

// viewOf is what the node says of one slot, and nothing if it has none of that id.
func (e *Executor) viewOf(id string) []yurt.Slot {
	sl := e.slot(id)
	if sl == nil {
		return nil
	}
	return []yurt.Slot{sl.view()}
}

// watchNode calls look, and again when something about the slot of that id, or anything
// on the node, has changed.
func (e *Executor) watchNode(ctx context.Context, id string, look func() error) error {
	rung, leave := e.bells.Listen(id)
	defer leave()
	for {
		if err := look(); err != nil {
			return err
		}
		if err := e.pause(ctx, watchPause); err != nil { // what changes meanwhile is told in one
			return err
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return ctx.Err()
		case <-e.ctx.Done():
			return errShuttingDown()
		}
	}
}

// pause waits, unless ctx or the executor ends.
func (e *Executor) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-e.ctx.Done():
		return errShuttingDown()
	}
}

const (
	// refusalKept is how long it is remembered that a slot was refused.
	refusalKept = time.Minute
	maxRefusals = 256
)

// refusals are the slots that were not opened lately, by id: who waits for one of them is
// told why. The zero value is ready to use.
type refusals struct {
	mu   sync.Mutex
	byID map[string]refused
}

type refused struct {
	at  time.Time
	err error
}

// note keeps what came of opening a slot, and reports whether it was refused.
func (r *refusals) note(id string, err error, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byID, id)
	if err == nil {
		return false
	}
	maps.DeleteFunc(r.byID, func(_ string, was refused) bool { return now.Sub(was.at) > refusalKept })
	if r.byID == nil {
		r.byID = make(map[string]refused)
	}
	if len(r.byID) < maxRefusals {
		r.byID[id] = refused{now, err}
	}
	return true
}

// of returns why the slot was refused, nil if it was not, or long ago.
func (r *refusals) of(id string, now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, ok := r.byID[id]
	if !ok || now.Sub(was.at) > refusalKept {
		return nil
	}
	return was.err
}
