package pool

import (
	"math"
	"time"

	"github.com/yurtrun/yurt"
)

const (
	// rateMemory is the time constant of the estimated rate of claims.
	rateMemory = 10 * time.Second
	// slackDeviations is how many standard deviations of the claims that come while a
	// slot opens are kept ready beside their mean.
	slackDeviations = 2
	// buckets divide the idle timeout; a peak is forgotten one bucket late at most.
	buckets = 32
)

// Need is the demand on a pool at one moment.
type Need struct {
	// Busy is how many slots are claimed, or are making the sandbox that follows.
	Busy int
	// Making is how many of these are making their next sandbox: their future claims need no new slot.
	Making int
	// Away is how many of the pool's own slots cannot be claimed, for any reason.
	Away int
	// Owed is how many claims since the last observation the busy ones do not show: claims that found no sandbox, and claims whose
	// slot does not come back by itself.
	Owed int
	// Claims is how many claims came since the last observation, and Misses how many of them found no sandbox: the pool lacked
	// so many.
	Claims, Misses int
	// Lead is how long it takes to open a slot.
	Lead time.Duration
}

// Policy computes how many slots a pool should have: the most that were needed at once in the last idle timeout, so that each
// slot is closed that long after it was last of use. The idle timeout therefore states the price of a cold start in seconds of
// an idle sandbox. This is the ski-rental rule, which costs at most twice the best choice for each slot in hindsight, under any
// load. In addition the pool keeps as many ready as will be claimed while one more opens, by the rate of claims, and a slack, so
// that it stays ahead of a load that grows. The zero value is ready for use.
type Policy struct {
	used, busy peaks
	owed       recent
	rate       float64 // claims a second
	now        int     // busy ones when last observed
	claimed    int     // those of them that make no next sandbox
	lead       time.Duration
	at         time.Time // of the last observation
}

// Observe takes in the demand on a pool. Times must not go back.
func (p *Policy) Observe(at time.Time, pool yurt.WarmPool, need Need) {
	if !p.at.IsZero() {
		p.rate *= math.Exp(-at.Sub(p.at).Seconds() / rateMemory.Seconds())
	}
	p.rate += float64(need.Claims) / rateMemory.Seconds()
	p.at, p.now, p.lead, p.claimed = at, need.Busy, need.Lead, need.Busy-need.Making
	p.owed.add(at, need.Lead, need.Owed)
	idle := pool.IdleTimeout.Std()
	used := max(need.Busy+p.owed.sum, p.forecast())
	if need.Misses > 0 {
		used = max(used, need.Away+need.Misses)
	}
	p.used.add(at, idle, used)
	p.busy.add(at, idle, p.claimed)
}

// Adopt takes the present number of slots for the demand until now.
func (p *Policy) Adopt(at time.Time, pool yurt.WarmPool, slots int) {
	p.used.add(at, pool.IdleTimeout.Std(), slots)
}

// Size is how many slots the pool should have, the busy ones among them: at least its
// minimum beside those that are claimed, and at most its maximum beside those that are busy.
// A node that is slow to make sandboxes gets no further slots for that, which would make it
// slower.
func (p *Policy) Size(at time.Time, pool yurt.WarmPool) int {
	if pool.Max == 0 {
		return 0
	}
	idle := pool.IdleTimeout.Std()
	size := p.used.max(at, idle)
	if pool.Min > 0 {
		size = max(size, p.busy.max(at, idle)+pool.Min)
	}
	return min(max(size, p.claimed+pool.Min), p.now+pool.Max)
}

// forecast is how many slots are claimed now or will be while one more opens.
func (p *Policy) forecast() int {
	mean := p.rate * p.lead.Seconds()
	return p.claimed + int(math.Round(mean+slackDeviations*math.Sqrt(mean)))
}

// peaks is the greatest of the numbers of a window of time, to the precision of a bucket.
type peaks struct {
	width time.Duration // of a bucket
	last  int64         // number of the newest one
	ring  [buckets + 1]int
}

// turn moves the window on to a time. Another width keeps the greatest number.
func (w *peaks) turn(at time.Time, window time.Duration) {
	width := max(window/buckets, 1)
	bucket := at.UnixNano() / int64(width)
	if w.width != width {
		greatest := 0
		for _, n := range w.ring {
			greatest = max(greatest, n)
		}
		*w = peaks{width: width, last: bucket}
		w.ring[w.index(bucket)] = greatest
		return
	}
	for ; w.last < bucket; w.last++ {
		if bucket-w.last > int64(len(w.ring)) {
			w.last = bucket - int64(len(w.ring)) // all of it is over
		}
		w.ring[w.index(w.last+1)] = 0
	}
}

func (w *peaks) index(bucket int64) int { return int(bucket % int64(len(w.ring))) }

func (w *peaks) add(at time.Time, window time.Duration, n int) {
	w.turn(at, window)
	i := w.index(w.last)
	w.ring[i] = max(w.ring[i], n)
}

func (w *peaks) max(at time.Time, window time.Duration) int {
	w.turn(at, window)
	greatest := 0
	for _, n := range w.ring {
		greatest = max(greatest, n)
	}
	return greatest
}

// recent counts events within a span of time.
type recent struct {
	events []event
	sum    int
}

type event struct {
	at time.Time
	n  int
}

func (r *recent) add(at time.Time, span time.Duration, n int) {
	old := 0
	for old < len(r.events) && at.Sub(r.events[old].at) > span {
		r.sum -= r.events[old].n
		old++
	}
	r.events = append(r.events[:0], r.events[old:]...)
	if n > 0 {
		r.events = append(r.events, event{at, n})
		r.sum += n
	}
}
