// Package reserve keeps idle items, such as warm sandboxes, by the digest of their template. It hands each item out once, the
// oldest first, and never after the item is dropped. A caller that finds no item can queue for the next one. The package holds
// references only: the executor makes, watches and records the items.
package reserve

import (
	"maps"
	"slices"
	"sync"
)

// Item is a thing that can be held ready.
type Item interface {
	comparable

	Digest() string // of its template
	IsGone() bool   // for good
	SetTaken(bool)  // whether it has an owner
}

// Reserve holds idle items in the order in which they came. Its methods may be called concurrently.
type Reserve[T Item] struct {
	mu      sync.Mutex
	of      map[string][]T          // by digest; no list is empty
	waiters map[string][]*Waiter[T] // by digest, the oldest first; no list is empty
}

// New returns a reserve that is empty.
func New[T Item]() *Reserve[T] {
	return &Reserve[T]{of: make(map[string][]T), waiters: make(map[string][]*Waiter[T])}
}

// Put adds an idle item, or gives it to the waiter that waits for it.
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

// Take takes out the oldest item of the digest that fits. The item then belongs to the caller alone. It returns the zero value when
// no item fits.
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

// Drop takes out an item that is gone, so that no caller can take it.
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

// PutBack returns an unchanged item to the reserve.
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
