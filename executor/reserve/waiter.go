package reserve

import "slices"

// Waiter is a caller's place in the queue for items of one digest.
type Waiter[T Item] struct {
	digest string
	fits   func(T) bool
	item   chan T // receives the waiter's item; closed when the wait is cancelled
}

// Item returns a channel that receives the waiter's item, or the zero value when the wait is cancelled.
func (in *Waiter[T]) Item() <-chan T { return in.item }

// TakeOrWait takes out the oldest item of the digest that fits, as [Reserve.Take] does. If no item fits, and coming says that more items
// will come than others wait for, the caller joins the queue until it is given an item, its wait is cancelled or it leaves. coming is called
// with the present items of the reserve and must not use the reserve.
func (r *Reserve[T]) TakeOrWait(digest string, fits func(T) bool, coming func() bool) (T, *Waiter[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var none T
	if item := r.takeNow(digest, fits); item != none {
		return item, nil
	}
	if !coming() {
		return none, nil
	}
	in := &Waiter[T]{digest: digest, fits: fits, item: make(chan T, 1)}
	r.waiters[digest] = append(r.waiters[digest], in)
	return none, in
}

// Leave takes a waiter out of the queue. It returns an item that the waiter was given at the last moment.
func (r *Reserve[T]) Leave(in *Waiter[T]) (item T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.waiters[in.digest], in); i >= 0 {
		r.removeWaiter(in.digest, i)
		return item
	}
	return <-in.item
}

// CancelLast is called when one item fewer of the digest will come than was announced. The last waiter in the queue leaves without an
// item, since the next one goes to the first.
func (r *Reserve[T]) CancelLast(digest string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.waiters[digest]) - 1
	if last < 0 {
		return // the waiters have left
	}
	in := r.waiters[digest][last]
	r.removeWaiter(digest, last)
	close(in.item)
}

// give hands an idle item to the waiter that has waited longest for its digest. The lock is held.
func (r *Reserve[T]) give(item T) bool {
	digest := item.Digest()
	i := slices.IndexFunc(r.waiters[digest], func(in *Waiter[T]) bool { return in.fits(item) })
	if i < 0 {
		return false
	}
	in := r.waiters[digest][i]
	r.removeWaiter(digest, i)
	item.SetTaken(true)
	in.item <- item
	return true
}

// removeWaiter takes a waiter out of the queue. The lock is held.
func (r *Reserve[T]) removeWaiter(digest string, i int) {
	if r.waiters[digest] = slices.Delete(r.waiters[digest], i, i+1); len(r.waiters[digest]) == 0 {
		delete(r.waiters, digest)
	}
}
