package reserve

import "slices"

// Seeker is a caller's place in the queue for items of one digest.
type Seeker[T Item] struct {
	digest string
	fits   func(T) bool
	given  chan T // holds the one that it was given, which is its own alone; closed when it was turned away
}

// Given returns a channel that receives the seeker's item, or the zero value when the seeker is turned away.
func (in *Seeker[T]) Given() <-chan T { return in.given }

// Seek takes out the oldest item of the digest that fits, as [Reserve.Take] does. If no item fits, and coming says that more items
// will come than others wait for, the caller joins the queue until it is given an item, is turned away or leaves. coming is called
// with the present items of the reserve and must not use the reserve.
func (r *Reserve[T]) Seek(digest string, fits func(T) bool, coming func() bool) (T, *Seeker[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var none T
	if item := r.takeNow(digest, fits); item != none {
		return item, nil
	}
	if !coming() {
		return none, nil
	}
	in := &Seeker[T]{digest: digest, fits: fits, given: make(chan T, 1)}
	r.line[digest] = append(r.line[digest], in)
	return none, in
}

// Leave takes a seeker out of the queue. It returns an item that the seeker was given at the last moment.
func (r *Reserve[T]) Leave(in *Seeker[T]) (item T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.line[in.digest], in); i >= 0 {
		r.letGo(in.digest, i)
		return item
	}
	return <-in.given
}

// TurnAway is called when one item fewer of the digest will come than was announced. The last seeker in the queue leaves without an
// item, since the next one goes to the first.
func (r *Reserve[T]) TurnAway(digest string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.line[digest]) - 1
	if last < 0 {
		return // the seekers have left
	}
	in := r.line[digest][last]
	r.letGo(digest, last)
	close(in.given)
}

// give hands an idle item to the seeker that has waited longest for its digest. The lock is held.
func (r *Reserve[T]) give(item T) bool {
	digest := item.Digest()
	i := slices.IndexFunc(r.line[digest], func(in *Seeker[T]) bool { return in.fits(item) })
	if i < 0 {
		return false
	}
	in := r.line[digest][i]
	r.letGo(digest, i)
	item.SetTaken(true)
	in.given <- item
	return true
}

// letGo is called with the lock held.
func (r *Reserve[T]) letGo(digest string, i int) {
	if r.line[digest] = slices.Delete(r.line[digest], i, i+1); len(r.line[digest]) == 0 {
		delete(r.line, digest)
	}
}
