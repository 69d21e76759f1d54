// Package turns lets so many callers at once do what takes much of the node, such as making a
// sandbox: who is waited for goes first, and who is not is served all the same. A turn is the
// caller's until it is given back; the package knows nothing of what it is taken for.
package turns

import (
	"context"
	"slices"
	"sync"
)

// patienceOf is after how many urgent ones who is patient has a turn all the same: what
// is never refilled has ever more ask for it urgently.
const patienceOf = 8

// Turns lets so many do something at once. Who is waited for goes first; the others
// leave some turns free, so that who comes then need not wait for them.
type Turns struct {
	mu      sync.Mutex
	free    int
	spare   int // that only the urgent take
	passed  int // urgent ones that have gone before who is patient
	urgent  []chan struct{}
	patient []chan struct{} // each is closed when its turn has come
}

// New returns so many turns.
func New(count int) *Turns { return &Turns{free: count, spare: count / 2} }

// Take returns when it is the caller's turn, who then calls [Turns.Give]. One who is patient is
// urgent from when hurry is closed.
func (t *Turns) Take(ctx context.Context, urgent bool, hurry <-chan struct{}) error {
	queue := &t.patient
	if urgent {
		queue = &t.urgent
	}
	mine := make(chan struct{})
	t.mu.Lock()
	*queue = append(*queue, mine)
	t.next()
	t.mu.Unlock()
	for waiting := true; waiting; {
		select {
		case <-mine:
			return nil
		case <-hurry:
			hurry, queue = nil, t.promote(queue, mine)
		case <-ctx.Done():
			waiting = false
		}
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

// promote moves who waits in a queue to the end of that of the urgent, which it returns.
func (t *Turns) promote(from *[]chan struct{}, mine chan struct{}) *[]chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(*from, mine); i >= 0 && from != &t.urgent {
		*from = slices.Delete(*from, i, i+1)
		t.urgent = append(t.urgent, mine)
		t.next()
	}
	return &t.urgent
}

// Give ends the caller's turn.
func (t *Turns) Give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free++
	t.next()
}

// next hands out what turns there are. The lock is held.
func (t *Turns) next() {
	for t.free > 0 {
		switch patient, urgent := len(t.patient) > 0, len(t.urgent) > 0; {
		case patient && (t.free > t.spare && !urgent || t.passed >= patienceOf):
			t.passed = 0
			t.let(&t.patient)
		case urgent:
			if patient {
				t.passed++
			}
			t.let(&t.urgent)
		default:
			return
		}
	}
}

// let tells the first of the queue that it is its turn.
func (t *Turns) let(queue *[]chan struct{}) {
	close((*queue)[0])
	*queue = slices.Delete(*queue, 0, 1)
	t.free--
}
