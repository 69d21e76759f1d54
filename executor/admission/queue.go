// Package admission limits how many callers at once do work that takes much of the node, such as making a
// sandbox. Urgent callers, whose sandbox a request waits for, go first; patient callers are served too. Among the urgent ones, groups
// take turns.
package admission

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/yurtrun/yurt/internal/turns"
)

// ErrDisplaced says that a caller had to leave a full queue for one of a group with fewer callers.
var ErrDisplaced = errors.New("the queue is full, and another group has fewer callers in it")

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
	urgent   turns.Line[*caller]
	patient  []*caller
}

// caller is one that waits.
type caller struct {
	group    string
	admitted chan struct{} // closed when it is admitted
	left     chan struct{} // closed when it is displaced
}

// NewQueue returns a queue that admits so many callers at once.
func NewQueue(places int) *Queue { return &Queue{free: places, reserved: places / 2} }

// Enter returns nil when a caller of a group is admitted, which then calls [Queue.Leave]. It returns the error of ctx when that
// ends first, and [ErrDisplaced] where a call of [Queue.Displace] chose the caller. A patient caller becomes urgent when hurry is closed.
func (q *Queue) Enter(ctx context.Context, group string, urgent bool, hurry <-chan struct{}) error {
	one := &caller{group: group, admitted: make(chan struct{}), left: make(chan struct{})}
	q.mu.Lock()
	if urgent {
		q.urgent.Add(group, one)
	} else {
		q.patient = append(q.patient, one)
	}
	q.admit()
	q.mu.Unlock()
	for {
		select {
		case <-one.admitted:
			return nil
		case <-one.left:
			return ErrDisplaced
		case <-hurry:
			hurry = nil
			q.promote(one)
		case <-ctx.Done():
			q.desert(one)
			return ctx.Err()
		}
	}
}

// desert takes a caller out that stopped waiting. One that was admitted meanwhile gives its place to another.
func (q *Queue) desert(one *caller) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.patient, one); i >= 0 {
		q.patient = slices.Delete(q.patient, i, i+1)
		return
	}
	if q.urgent.Remove(one.group, one) {
		return
	}
	select {
	case <-one.left:
	default:
		q.free++
		q.admit()
	}
}

// promote makes a patient caller the last of the urgent ones of its group.
func (q *Queue) promote(one *caller) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.patient, one); i >= 0 {
		q.patient = slices.Delete(q.patient, i, i+1)
		q.urgent.Add(one.group, one)
		q.admit()
	}
}

// Displace makes the last urgent caller of the group with the most of them leave the queue, unless the given group is to have as many.
// It reports whether a caller left.
func (q *Queue) Displace(group string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	one, ok := q.urgent.Displace(group)
	if ok {
		close(one.left)
	}
	return ok
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
		switch patient, urgent := len(q.patient) > 0, q.urgent.Len() > 0; {
		case patient && (q.free > q.reserved && !urgent || q.passed >= maxPassed):
			q.passed = 0
			first := q.patient[0]
			q.patient = slices.Delete(q.patient, 0, 1)
			q.let(first)
		case urgent:
			if patient {
				q.passed++
			}
			first, _ := q.urgent.Next()
			q.let(first)
		default:
			return
		}
	}
}

func (q *Queue) let(one *caller) {
	close(one.admitted)
	q.free--
}
