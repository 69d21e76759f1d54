package slots

import (
	"maps"
	"sync"
	"time"
)

const (
	// refusalKept is how long it is remembered that a slot was refused.
	refusalKept = time.Minute
	maxrefusals = 256
)

// refusals are the slots that recently failed to open, by id: callers that wait for one of them get the reason. The zero value is
// ready to use.
type refusals struct {
	mu   sync.Mutex
	byID map[string]refused
}

// NoteRefusal keeps the outcome of opening a slot for a while, for callers that wait for it, and reports whether it was refused.
func (l *Set[S]) NoteRefusal(id string, err error) bool {
	return l.refusals.note(id, err, time.Now())
}

// Refusal returns why the slot was refused, nil if it was not, or long ago.
func (l *Set[S]) Refusal(id string) error { return l.refusals.of(id, time.Now()) }

type refused struct {
	at  time.Time
	err error
}

// note keeps the outcome of opening a slot, and reports whether it was refused.
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
	if len(r.byID) < maxrefusals {
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
