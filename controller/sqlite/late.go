package sqlite

import (
	"context"
	"sync"
)

// late is a transaction whose caller has told of it before it is committed, if there is one. It has
// the turn to write, so there is no other.
type late struct {
	mu      sync.Mutex
	writers int           // that wait for their turn
	over    chan struct{} // closed once it is committed, or has failed; nil when there is none
	wanted  chan struct{} // closed once somebody waits for that; nil when there is none, or it is closed
}

// begin has readers wait until over is called. wanted is closed once anybody waits, to read or
// to write.
func (l *late) begin() (wanted <-chan struct{}, over func()) {
	ended, asked := make(chan struct{}), make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over, l.wanted = ended, asked
	if l.writers > 0 {
		l.want()
	}
	return asked, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.over, l.wanted = nil, nil
		close(ended)
	}
}

// want says that somebody waits. The lock is held.
func (l *late) want() {
	if l.wanted != nil {
		close(l.wanted)
		l.wanted = nil
	}
}

// wait returns when there is none that was begun before, or with the error of ctx.
func (l *late) wait(ctx context.Context) error {
	l.mu.Lock()
	over := l.over
	l.want()
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

// writer says that somebody waits for the turn to write, until left is called.
func (l *late) writer() (left func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writers++
	l.want()
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.writers--
	}
}
