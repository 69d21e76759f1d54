// Package reserve keeps what is ready and nobody's yet, such as sandboxes, by the digest of
// what it was made of. What is put in is handed out once, the oldest first, and never after it
// is gone; who finds nothing can stand in line for what comes next. It holds nothing but
// references: what is in it, the executor makes, watches and records.
package reserve

import (
	"maps"
	"slices"
	"sync"
)

// Item is what can be held ready.
type Item interface {
	comparable

	Digest() string // of what it was made of
	IsGone() bool   // for good
	SetTaken(bool)  // it is somebody's, or nobody's again
}

// Reserve holds what is ready, in the order in which it came. Its methods may be called
// concurrently.
type Reserve[T Item] struct {
	mu   sync.Mutex
	of   map[string][]T          // by digest; none is empty
	line map[string][]*Seeker[T] // who waits for one, the first one first; none is empty
}

// New returns a reserve that is empty.
func New[T Item]() *Reserve[T] {
	return &Reserve[T]{of: make(map[string][]T), line: make(map[string][]*Seeker[T])}
}

// Put adds what nobody has. Who waits for one has it.
func (r *Reserve[T]) Put(item T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(item)
}

// add is called with the lock held.
func (r *Reserve[T]) add(item T) {
	if digest := item.Digest(); !r.give(item) {
		r.of[digest] = append(r.of[digest], item)
	}
}

// Take takes out the oldest of the digest that fits. It is the caller's alone from then on.
// The zero value means that there is none.
func (r *Reserve[T]) Take(digest string, fits func(T) bool) T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.takeNow(digest, fits)
}

// takeNow is called with the lock held.
func (r *Reserve[T]) takeNow(digest string, fits func(T) bool) (item T) {
	i := slices.IndexFunc(r.of[digest], func(item T) bool { return !item.IsGone() && fits(item) })
	if i < 0 {
		return item
	}
	item = r.of[digest][i]
	item.SetTaken(true)
	r.remove(digest, i)
	return item
}

// Drop takes out what is gone. Afterwards nobody can take it.
func (r *Reserve[T]) Drop(item T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	digest := item.Digest()
	if i := slices.Index(r.of[digest], item); i >= 0 {
		r.remove(digest, i)
	}
}

// remove is called with the lock held.
func (r *Reserve[T]) remove(digest string, i int) {
	if r.of[digest] = slices.Delete(r.of[digest], i, i+1); len(r.of[digest]) == 0 {
		delete(r.of, digest)
	}
}

// PutBack makes what was taken, and of which nothing has been changed, what nobody has.
func (r *Reserve[T]) PutBack(item T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if item.IsGone() {
		return // and dropped, which it would not be again
	}
	item.SetTaken(false)
	r.add(item)
}

// List returns all that can be taken, by digest.
func (r *Reserve[T]) List() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []T
	for _, digest := range slices.Sorted(maps.Keys(r.of)) {
		for _, item := range r.of[digest] {
			if !item.IsGone() {
				list = append(list, item)
			}
		}
	}
	return list
}
