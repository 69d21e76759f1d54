package reserve

import "slices"

// Seeker is a place in the line of those who wait for an item.
type Seeker[T Item] struct {
	digest string
	fits   func(T) bool
	given  chan T // holds the one that it was given, which is its own alone; closed when it was turned away
}

// Given returns a channel that receives what the seeker is given, the zero value when that is
// nothing as it was turned away.
func (in *Seeker[T]) Given() <-chan T { return in.given }

// Seek takes out the oldest of the digest that fits, as [Reserve.Take] does. If there is
// none, and coming says that there will be one more than others wait for, the caller is in line
// for the next ones, until it is given one, is turned away or leaves. coming, which is called
// with what is in the reserve as it is, must not use the reserve.
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

// Leave takes a seeker out of the line. What it was given all the same is returned.
func (r *Reserve[T]) Leave(in *Seeker[T]) (item T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.line[in.digest], in); i >= 0 {
		r.letGo(in.digest, i)
		return item
	}
	return <-in.given
}

// TurnAway is called when one fewer of the digest will come than was said. Who came last goes
// without, as the next one that comes is given to who came first.
func (r *Reserve[T]) TurnAway(digest string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.line[digest]) - 1
	if last < 0 {
		return // who waited for it has left
	}
	in := r.line[digest][last]
	r.letGo(digest, last)
	close(in.given)
}

// give gives what nobody has to who has waited longest for one like it. The lock is held.
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
