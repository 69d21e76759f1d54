package sqlite

import (
	"context"
	"sync"
)

// late is a transaction whose caller has told of it before it is committed, if there is one. It has
// the turn to write, so there is no other.
type late struct {
	mu   sync.Mutex
	over chan struct{} // closed once it is committed, or has failed; nil when there is none
}

// begin has readers wait until over is called.
func (l *late) begin() (over func()) {
	ended := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = ended
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.over = nil
		close(ended)
	}
}

// wait returns when there is none that was begun before, or with the error of ctx.
func (l *late) wait(ctx context.Context) error {
	l.mu.Lock()
	over := l.over
	l.mu.Unlock()
	if over == nil {
		return nil
	}
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
