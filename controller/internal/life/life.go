// Package life holds the state that the parts of a controller share from its start to its close: its id, clock and log, its place among
// the other controllers, and the tasks that outlive a request.
package life

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/internal/clock"
	"github.com/yurtrun/yurt/controller/lease"
)

// storeBackoff is the pause before a store that failed is asked again.
const storeBackoff = time.Second

// Life is one life of a controller. It owns every task that the controller's parts start in the background.
type Life struct {
	ID      string // which owns the sessions and executions that this life makes and follows
	Clock   clock.Clock
	Log     *slog.Logger
	Members *lease.Members

	ctx       context.Context // of everything that outlives a request
	stop      context.CancelFunc
	recovered chan struct{} // closed once the sessions of an earlier life are judged

	mu        sync.Mutex
	closing   bool // no new requests
	closed    bool // no new tasks
	tasks     sync.WaitGroup
	teardowns int        // tasks that clear up after a session
	tornDown  *sync.Cond // signalled when no teardown is left
}

// New begins a life. Its Members are set before it is used.
func New(clock clock.Clock, log *slog.Logger) *Life {
	ctx, stop := context.WithCancel(access.Systemwide(context.Background()))
	l := &Life{ID: yurt.NewControllerID(), Clock: clock, Log: log, ctx: ctx, stop: stop, recovered: make(chan struct{})}
	l.tornDown = sync.NewCond(&l.mu)
	return l
}

// Context ends when the controller is closed.
func (l *Life) Context() context.Context { return l.ctx }

// Recover notes that the sessions of earlier lives are judged, so that requests are served. It is called once.
func (l *Life) Recover() { close(l.recovered) }

// Serving returns an error until the sessions of an earlier life are judged: before
// that, a new one could be taken for a leftover.
func (l *Life) Serving() error {
	l.mu.Lock()
	closing := l.closing
	l.mu.Unlock()
	if closing {
		return yurt.Errorf(yurt.CodeUnavailable, "the controller is shutting down")
	}
	if err := l.Members.Unfit(); err != nil {
		return err
	}
	select {
	case <-l.recovered:
		return nil
	default:
		return yurt.Errorf(yurt.CodeUnavailable, "the controller is starting; try again in a moment")
	}
}

// Background runs task in a goroutine that Close waits for. The task has to end
// soon after its context does. It reports false when the controller is closed.
func (l *Life) Background(task func(ctx context.Context)) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.tasks.Go(func() { task(l.ctx) })
	return true
}

// ClearUp runs a task that clears up after a session. Close waits for it to end on
// its own.
func (l *Life) ClearUp(task func(ctx context.Context)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return // the next life finds the remaining sessions
	}
	l.teardowns++
	l.tasks.Go(func() {
		task(l.ctx)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.teardowns--; l.teardowns == 0 {
			l.tornDown.Broadcast()
		}
	})
}

// Repair does in the background the rest of a request whose outcome is unknown, because the store or the caller was away. It
// tries until the store is back, or the controller is closed.
func (l *Life) Repair(cause error, what, id string, fix func(ctx context.Context) error) {
	switch yurt.CodeOf(cause) {
	case yurt.CodeUnavailable, yurt.CodeCanceled, yurt.CodeDeadlineExceeded:
	default:
		return
	}
	l.Background(func(ctx context.Context) {
		for ctx.Err() == nil {
			Sleep(ctx, storeBackoff)
			err := fix(ctx)
			if err == nil {
				return
			}
			l.Log.Error("repairing "+what, "id", id, "error", err)
			if yurt.CodeOf(err) != yurt.CodeUnavailable {
				return
			}
		}
	})
}

// Close takes no new requests, waits until the sessions that have ended are cleared up, and then ends all tasks.
func (l *Life) Close() {
	l.mu.Lock()
	l.closing = true
	for l.teardowns > 0 {
		l.tornDown.Wait()
	}
	l.closed = true
	l.mu.Unlock()
	l.stop()
	l.tasks.Wait()
}

// Now is the time that records carry: UTC, without the monotonic reading, so that
// it is the same before and after the store.
func (l *Life) Now() time.Time { return l.Clock.Now().UTC().Round(0) }

// Sleep waits for d, or less when ctx ends. It paces input and output, so it keeps real time, independent of the
// controller's clock.
func Sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Detached returns a context for work that has to finish although its caller
// leaves, bounded by limit.
func Detached(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}
