package slots

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/headroom"
)

// Node is the node of the slots, as this package uses it.
type Node[S Sandbox] interface {
	// Make makes a sandbox, unless the node takes no new ones. It is given to the slot, by [Slot.Fill], before a
	// caller can claim it.
	Make(ctx context.Context, sl *Slot[S]) error
	// Await returns when the sandbox is gone, with the reason if no session had claimed it. From then on no session can.
	Await(ctx context.Context, s S) (why string, err error)
	Destroy(ctx context.Context, s S) error
	// NotifyOwner tells the owner of a sandbox that it is gone, and the reason.
	NotifyOwner(s S, why string)
	// CancelWait says that the next sandbox of a slot of the digest, for which a caller waits, is not about to be ready any
	// more.
	CancelWait(digest string)
	// Serve starts a goroutine that the node waits for as it is closed.
	Serve(do func()) error
	IsClosed() bool
	// Changed says that something about the slot of that id has changed.
	Changed(id string)
}

// Set is the slots of a node. Its methods may be called concurrently, once Load and Start
// have returned.
type Set[S Sandbox] struct {
	ctx      context.Context //nolint:containedctx // it is the node's life
	dir      string          // of their records
	node     Node[S]
	room     *headroom.Room
	logger   *slog.Logger
	refusals refusals

	mu   sync.Mutex
	byID map[string]*Slot[S]
}

// New returns the slots whose records are in the directory, once Load has read them. They
// live until ctx is done. That one has ended is written on the room when the disk is full.
func New[S Sandbox](ctx context.Context, dir string, node Node[S], room *headroom.Room, logger *slog.Logger) *Set[S] {
	return &Set[S]{ctx: ctx, dir: dir, node: node, room: room, logger: logger, byID: make(map[string]*Slot[S])}
}

// List returns them by id, those that have ended and were not closed yet included.
func (l *Set[S]) List() []*Slot[S] {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]*Slot[S], 0, len(l.byID))
	for _, id := range slices.Sorted(maps.Keys(l.byID)) {
		list = append(list, l.byID[id])
	}
	return list
}

// Get returns the slot of that id, or nil.
func (l *Set[S]) Get(id string) *Slot[S] {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byID[id]
}

// Open opens a slot, unless admit refuses it by the present number of slots, and returns once the slot is recorded, while its
// sandbox is being made. Opening an open slot changes no state.
func (l *Set[S]) Open(spec yurt.SlotSpec, admit func(open int) error) (yurt.Slot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sl := l.byID[spec.ID]; sl != nil {
		return sl.again(spec)
	}
	l.forgetEnded(time.Now())
	if err := admit(len(l.byID)); err != nil {
		return yurt.Slot{}, err
	}
	sl := l.newSlot(spec)
	if err := l.write(sl); err != nil {
		return yurt.Slot{}, err
	}
	if err := l.node.Serve(func() { l.keep(sl) }); err != nil {
		return yurt.Slot{}, errors.Join(err, l.remove(spec.ID))
	}
	l.byID[spec.ID] = sl
	l.node.Changed(spec.ID)
	return sl.View(), nil
}

// Close ends a slot and destroys its sandbox, also a claimed one. It returns when the slot is forgotten. An unknown slot is no
// error.
func (l *Set[S]) Close(ctx context.Context, id string) error {
	sl := l.Get(id)
	if sl == nil {
		return nil
	}
	var err error
	sl.once.Do(func() { err = l.node.Serve(func() { l.shut(sl) }) })
	if err != nil {
		return err
	}
	return l.await(ctx, sl.closed) // where ctx ends, it goes on
}

// Wait returns once the slot has ended, with the reason.
func (l *Set[S]) Wait(ctx context.Context, id string) (yurt.Slot, error) {
	sl := l.Get(id)
	if sl == nil {
		return yurt.Slot{}, yurt.FieldErrorf(yurt.CodeNotFound, "id", "this node has no slot %q", id)
	}
	if err := l.await(ctx, sl.over); err != nil {
		return yurt.Slot{}, err
	}
	return sl.View(), nil
}

func (l *Set[S]) await(ctx context.Context, closed <-chan struct{}) error {
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.ctx.Done():
		return yurt.Errorf(yurt.CodeUnavailable, "this node is shutting down")
	}
}
