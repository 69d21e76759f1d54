package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/yurtrun/yurt"
)

// storedAtOnce is how many creates the store carries out at once.
const storedAtOnce = 8

// stopRetry is when a create that a controller refuses at its end may come again: the next one serves by then.
const stopRetry = 2 * time.Second

// creates knows the creates under way, so that a controller that stops can end their wait.
type creates struct {
	stopping context.Context // ends when creates are refused, with the error for them
	refuse   context.CancelCauseFunc

	mu    sync.Mutex
	under int           // way
	none  chan struct{} // closed when the last one leaves after the refusal; nil while creates are taken
}

func newCreates() *creates {
	c := &creates{}
	c.stopping, c.refuse = context.WithCancelCause(context.Background())
	return c
}

// enter counts a create. Its context ends with its caller and with the refusal. The create calls leave at its end.
func (c *creates) enter(ctx context.Context) (_ context.Context, leave func(), _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.none != nil {
		return nil, nil, context.Cause(c.stopping)
	}
	c.under++
	ctx, cancel := context.WithCancelCause(ctx)
	goOn := context.AfterFunc(c.stopping, func() { cancel(context.Cause(c.stopping)) })
	return ctx, func() {
		goOn()
		cancel(nil)
		c.leave()
	}, nil
}

func (c *creates) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.under--; c.under == 0 && c.none != nil {
		close(c.none)
	}
}

// stop refuses creates, and returns once those under way have ended.
func (c *creates) stop(ctx context.Context) error {
	refusal := yurt.Errorf(yurt.CodeUnavailable, "the controller is shutting down; create the session again in a moment")
	refusal.RetryAfter = stopRetry
	select {
	case <-c.close(refusal):
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		return fmt.Errorf("waiting for %d creates to end: %w", c.under, ctx.Err())
	}
}

func (c *creates) close(refusal error) (none <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.none == nil {
		c.none = make(chan struct{})
		c.refuse(refusal)
		if c.under == 0 {
			close(c.none)
		}
	}
	return c.none
}

// whyEnded returns the error of a create whose context has ended: that of a controller that stops, or that the caller left. A caller may
// leave with any cause, such as an EOF.
func whyEnded(ctx context.Context) error {
	if cause := context.Cause(ctx); yurt.CodeOf(cause) != yurt.CodeInternal {
		return cause
	}
	return ctx.Err()
}
