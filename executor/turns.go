package executor

import (
	"context"
	"slices"
	"sync"
)

// turns lets so many do something at once. Who is waited for goes first; the others
// leave some turns free, so that who comes then need not wait for them.
type turns struct {
	mu      sync.Mutex
	free    int
	spare   int // that only the urgent take
	urgent  []chan struct{}
	patient []chan struct{} // each is closed when its turn has come
}

func newTurns(count int) *turns { return &turns{free: count, spare: count / 2} }

// take returns when it is the caller's turn, who then calls give.
func (t *turns) take(ctx context.Context, urgent bool) error {
	queue := &t.patient
	if urgent {
		queue = &t.urgent
	}
	mine := make(chan struct{})
	t.mu.Lock()
	*queue = append(*queue, mine)
	t.next()
	t.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(*queue, mine); i >= 0 {
		*queue = slices.Delete(*queue, i, i+1)
	} else { // it has come after all, and is another's now
		t.free++
		t.next()
	}
	return ctx.Err()
}

// give ends the caller's turn.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free++
	t.next()
}

// next hands out what turns there are. The lock is held.
func (t *turns) next() {
	t.free -= letIn(&t.urgent, t.free)
	t.free -= letIn(&t.patient, t.free-t.spare)
}

// letIn tells so many of the queue that it is their turn, and returns how many there were.
func letIn(queue *[]chan struct{}, count int) int {
	count = min(max(0, count), len(*queue))
	for _, one := range (*queue)[:count] {
		close(one)
	}
	*queue = slices.Delete(*queue, 0, count)
	return count
}
