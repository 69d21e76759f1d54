package pool

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/yurtrun/yurt"
)

const (
	// minLead is the least time that opening a slot is taken to need, and the estimate before the first slot has opened: a pool
	// is looked at no more often.
	minLead = 100 * time.Millisecond
	maxLead = 5 * time.Second
	// After a failure a pool opens one slot at a time until one succeeds, after a pause
	// that doubles.
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 30 * time.Second
)

// Stock counts the sandboxes of one template.
type Stock struct {
	Ready int // slots whose sandbox can be claimed
	Busy  int // slots that are claimed or make the sandbox that follows, and come back
	// Making is how many of the busy ones make the sandbox that follows, and are back sooner
	// than a further slot would be there.
	Making int
	Other  int // slots that are neither yet; not those whose Open has not returned
	// Claims so far, at all nodes. It may begin again at 0, when a node does.
	Hits, Misses int64
	// Owed counts, so far, the claims that Busy does not show; see [Need].
	Owed int64
}

// slots is how many there are, or soon will be.
func (s Stock) slots() int { return s.Ready + s.Busy + s.Other }

// Closing says that slots are too many.
type Closing struct {
	Digest string
	Slots  int
}

// Plan lists the changes to make now.
type Plan struct {
	Open  []yurt.Template // one slot each; a template may be there several times
	Close []Closing
}

// Planner plans for all pools. It opens a bounded number of slots at once, in turns over
// the pools, and leaves one that fails alone for a while, so that a burst of claims asks
// the engine below for no more than it digests. It is not safe for concurrent use.
type Planner struct {
	opens int // at once
	rand  *rand.Rand
	pools map[string]*pool // by name of the template
}

// NewPlanner returns a planner that has at most so many slots opened at once. Pauses have
// a jitter from random.
func NewPlanner(opens int, random *rand.Rand) *Planner {
	return &Planner{opens: opens, rand: random, pools: map[string]*pool{}}
}

// pool is one of a Planner's.
type pool struct {
	template yurt.Template
	digest   string
	policy   Policy
	stock    Stock
	size     int
	opening  int // that were planned and have neither opened nor failed

	lead      time.Duration // to open a slot, smoothed
	opened    int64
	took      time.Duration // together
	notBefore time.Time     // after a failure
	backoff   time.Duration
	failure   string
}

// Look takes in the stock of each digest, and plans. Templates is the whole list: it closes pools of a template that has left the
// list, or has another digest.
func (p *Planner) Look(at time.Time, templates []yurt.Template, stock map[string]Stock) Plan {
	p.Observe(at, templates, stock)
	listed := make(map[string]bool, len(templates))
	for _, template := range templates {
		listed[template.Name] = template.WarmPool.Max > 0
	}
	maps.DeleteFunc(p.pools, func(name string, _ *pool) bool { return !listed[name] })
	return Plan{Open: p.open(at), Close: p.surplus(stock)}
}

// Observe takes in the demand on the pools of some templates. Times must not go back.
func (p *Planner) Observe(at time.Time, templates []yurt.Template, stock map[string]Stock) {
	for _, template := range templates {
		if template.WarmPool.Max == 0 {
			continue
		}
		one := p.pools[template.Name]
		if one == nil {
			one = &pool{lead: minLead}
			p.pools[template.Name] = one
		}
		one.observe(at, template, stock)
	}
}

func (o *pool) observe(at time.Time, template yurt.Template, stock map[string]Stock) {
	digest := template.Digest()
	now := stock[digest]
	o.template = template
	if o.digest != digest { // a new template, or new content: the present slots count as needed
		o.digest, o.stock, o.notBefore, o.opening = digest, now, time.Time{}, 0
		o.policy.Adopt(at, template.WarmPool, now.Ready+now.Busy)
	}
	o.policy.Observe(at, template.WarmPool, Need{
		Busy: now.Busy, Making: min(now.Making, now.Busy), Away: max(0, o.size-now.Ready), Lead: o.lead,
		Misses: int(since(now.Misses, o.stock.Misses)),
		Owed:   int(since(now.Owed, o.stock.Owed)),
		Claims: int(since(now.Hits, o.stock.Hits) + since(now.Misses, o.stock.Misses)),
	})
	o.stock = now
	o.size = o.policy.Size(at, template.WarmPool)
}

// since is by how much a counter that may have begun again has grown.
func since(now, before int64) int64 {
	if now < before {
		return now
	}
	return now - before
}

// open plans which slots to open: in turns, that which lacks most of its size first.
func (p *Planner) open(at time.Time) []yurt.Template {
	free := p.opens
	var short []*pool
	for _, name := range slices.Sorted(maps.Keys(p.pools)) {
		one := p.pools[name]
		free -= one.opening
		if one.missing() > 0 && !at.Before(one.notBefore) {
			short = append(short, one)
		}
	}
	slices.SortStableFunc(short, func(a, b *pool) int { return cmp.Compare(b.lack(), a.lack()) })
	var open []yurt.Template
	for progress := true; progress && free > 0; {
		progress = false
		for _, one := range short {
			if free == 0 {
				break
			}
			if one.missing() <= 0 || one.backoff > 0 && one.opening > 0 {
				continue
			}
			open = append(open, one.template)
			one.opening++
			free--
			progress = true
		}
	}
	return open
}

func (o *pool) missing() int { return o.size - o.stock.slots() - o.opening }

// lack is which part of its size a pool has not got.
func (o *pool) lack() float64 { return float64(o.missing()) / float64(max(o.size, 1)) }

// surplus plans which slots to close: those beyond a pool's size, and all of pools that no longer exist. Only idle slots are
// closed, so at most as many as are ready. Other slots do not count: one may be ready already, and be counted twice for a
// moment.
func (p *Planner) surplus(stock map[string]Stock) []Closing {
	keep := make(map[string]int, len(p.pools))
	for _, one := range p.pools {
		keep[one.digest] = max(keep[one.digest], one.size)
	}
	var closing []Closing
	for _, digest := range slices.Sorted(maps.Keys(stock)) {
		have := stock[digest]
		if n := min(have.Ready+have.Busy-keep[digest], have.Ready); n > 0 {
			closing = append(closing, Closing{digest, n})
		}
	}
	return closing
}

// Opened says that a slot which was planned for a template is open, or why it is not.
func (p *Planner) Opened(at time.Time, template yurt.Template, took time.Duration, err error) {
	one := p.pools[template.Name]
	if one == nil || one.digest != template.Digest() {
		return // its pool is gone
	}
	one.opening = max(0, one.opening-1)
	if err != nil {
		one.failure = err.Error()
		one.backoff = min(max(2*one.backoff, firstBackoff), maxBackoff)
		one.notBefore = at.Add(one.backoff/2 + time.Duration(p.rand.Int64N(int64(one.backoff))))
		return
	}
	one.opened++
	one.took += took
	one.lead = min(max((3*one.lead+took)/4, minLead), maxLead)
	one.failure, one.backoff, one.notBefore = "", 0, time.Time{}
}

// GaveWay notes that an idle slot of the template with the digest was closed to make room for a session that waits. It is not
// opened again at once.
func (p *Planner) GaveWay(at time.Time, digest string) {
	for _, one := range p.pools {
		if one.digest == digest {
			one.backoff = max(one.backoff, maxBackoff/2)
			one.notBefore = at.Add(one.backoff/2 + time.Duration(p.rand.Int64N(int64(one.backoff))))
			one.failure = "it gave way to a session that found no room"
		}
	}
}

// State says how the pool of a template is, as of the last look.
func (p *Planner) State(template yurt.Template) yurt.Pool {
	state := yurt.Pool{Template: template.Name, PoolSize: yurt.PoolSize{Min: template.WarmPool.Min, Max: template.WarmPool.Max}}
	one := p.pools[template.Name]
	if one == nil {
		return state
	}
	if template.WarmPool.Max > 0 {
		state.Target = min(one.size-one.stock.Busy+one.stock.Making, template.WarmPool.Max)
	}
	state.Ready, state.Claimed = one.stock.Ready, one.stock.Busy-one.stock.Making
	state.Pending = one.opening + one.stock.Other + one.stock.Making
	state.Hits, state.Misses = one.stock.Hits, one.stock.Misses
	if claims := one.stock.Hits + one.stock.Misses; claims > 0 {
		state.HitRate = float64(one.stock.Hits) / float64(claims)
	}
	state.Refills = one.opened
	if one.opened > 0 {
		state.RefillMS = one.took.Seconds() * 1000 / float64(one.opened)
	}
	state.Failure = one.failure
	return state
}
