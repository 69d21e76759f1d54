// Package admission limits how many callers at once do work that takes much of the node, such as making a
// sandbox. Urgent callers, whose sandbox a request waits for, go first; patient callers are served too.
package admission

import (
	"context"
	"slices"
	"sync"
)

// maxPassed is how many urgent callers may go before a patient one. Without this bound a pool that
// is never refilled would make ever more requests urgent.
const maxPassed = 8

// Queue admits a number of callers at once. Patient callers leave half of the places free for
// urgent ones. Methods may be called concurrently.
type Queue struct {
	mu       sync.Mutex
	free     int
	reserved int // places that urgent callers alone take
	passed   int // urgent callers that have gone before the first patient one
	urgent   []chan struct{}
	patient  []chan struct{} // each is closed when its caller is admitted
}

// NewQueue returns a queue that admits so many callers at once.
func NewQueue(places int) *Queue { return &Queue{free: places, reserved: places / 2} }

// Enter returns nil when the caller is admitted, which then calls [Queue.Leave]. It returns the error of ctx when that
// ends first. A patient caller becomes urgent when hurry is closed.
func (q *Queue) Enter(ctx context.Context, urgent bool, hurry <-chan struct{}) error {
	queue := &q.patient
	if urgent {
		queue = &q.urgent
	}
	admitted := make(chan struct{})
	q.mu.Lock()
	*queue = append(*queue, admitted)
	q.admit()
	q.mu.Unlock()
	for waiting := true; waiting; {
		select {
		case <-admitted:
			return nil
		case <-hurry:
			hurry, queue = nil, q.promote(queue, admitted)
		case <-ctx.Done():
			waiting = false
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(*queue, admitted); i >= 0 {
		*queue = slices.Delete(*queue, i, i+1)
	} else { // the caller was admitted as ctx ended, and another takes its place
		q.free++
		q.admit()
	}
	return ctx.Err()
}

// promote moves a caller to the end of the urgent ones, and returns their list.
func (q *Queue) promote(from *[]chan struct{}, admitted chan struct{}) *[]chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(*from, admitted); i >= 0 && from != &q.urgent {
		*from = slices.Delete(*from, i, i+1)
		q.urgent = append(q.urgent, admitted)
		q.admit()
	}
	return &q.urgent
}

// Leave gives the caller's place to the next one.
func (q *Queue) Leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free++
	q.admit()
}

// admit gives the free places to waiting callers. The caller holds the lock.
func (q *Queue) admit() {
	for q.free > 0 {
		switch patient, urgent := len(q.patient) > 0, len(q.urgent) > 0; {
		case patient && (q.free > q.reserved && !urgent || q.passed >= maxPassed):
			q.passed = 0
			q.admitFirst(&q.patient)
		case urgent:
			if patient {
				q.passed++
			}
			q.admitFirst(&q.urgent)
		default:
			return
		}
	}
}

func (q *Queue) admitFirst(queue *[]chan struct{}) {
	close((*queue)[0])
	*queue = slices.Delete(*queue, 0, 1)
	q.free--
}
