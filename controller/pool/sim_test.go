package pool_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/pool"
)

const (
	simOpen   = 80 * time.Millisecond // to open a slot
	simRefill = 70 * time.Millisecond // from the end of a session to the next sandbox in its slot
	simOpens  = 8                     // at once
	simIdle   = 5 * time.Minute       // idle timeout: the price of a cold start in idle sandbox time
)

// A load is when sessions begin, and how long they live.
type load struct {
	name     string
	sessions []session // by time
	horizon  time.Duration
}

type session struct{ at, length time.Duration }

// outcome is the result of serving a load.
type outcome struct {
	cold, opened, peak int
	idle               time.Duration // of sandboxes, together
}

// cost is in idle sandbox time.
func (o outcome) cost() time.Duration { return o.idle + time.Duration(o.cold)*simIdle }

// simulation serves a load from one pool. Everything happens at an instant of its own clock, in an order that depends on the
// load alone.
type simulation struct {
	outcome
	now               time.Duration
	ready, busy, hits int
	due               []due // by time
	planner           *pool.Planner
	template          yurt.Template
	looks             bool // one is due
}

type due struct {
	at time.Duration
	do func()
}

func (s *simulation) after(d time.Duration, do func()) {
	at := s.now + d
	i, _ := slices.BinarySearchFunc(s.due, at, func(e due, at time.Duration) int {
		if e.at <= at {
			return -1
		}
		return 1
	})
	s.due = slices.Insert(s.due, i, due{at, do})
}

// advance lets time pass until at, and the events that are due happen.
func (s *simulation) advance(at time.Duration) {
	for len(s.due) > 0 && s.due[0].at <= at {
		next := s.due[0]
		s.due = s.due[1:]
		s.pass(next.at)
		next.do()
	}
	s.pass(at)
}

func (s *simulation) pass(at time.Duration) {
	s.idle += time.Duration(s.ready) * (at - s.now)
	s.now = at
	s.peak = max(s.peak, s.ready+s.busy)
}

func (s *simulation) claim(length time.Duration) {
	if s.ready == 0 {
		s.cold++
	} else {
		s.hits++
		s.ready--
		s.busy++
		s.after(length+simRefill, func() { s.busy--; s.ready++ })
	}
	if s.planner != nil && !s.looks {
		s.looks = true
		s.after(50*time.Millisecond, func() { s.looks = false; s.look() })
	}
}

func (s *simulation) look() {
	if s.planner == nil {
		return
	}
	digest := s.template.Digest()
	plan := s.planner.Look(epoch.Add(s.now), []yurt.Template{s.template}, map[string]pool.Stock{digest: {
		Ready: s.ready, Busy: s.busy, Hits: int64(s.hits), Misses: int64(s.cold), Owed: int64(s.cold),
	}})
	for range plan.Open {
		s.opened++
		s.after(simOpen, func() {
			s.ready++
			s.planner.Opened(epoch.Add(s.now), s.template, simOpen, nil)
			s.look()
		})
	}
	for _, c := range plan.Close {
		s.ready -= min(c.Slots, s.ready)
	}
}

// serve returns the outcome of a load: sized by the policy, or with a fixed size.
func serve(l load, fixed int) outcome {
	s := &simulation{template: yurt.Template{Name: "t", WarmPool: yurt.WarmPool{Max: yurt.MaxPool, IdleTimeout: yurt.Duration(simIdle)}}}
	if fixed < 0 {
		s.planner = pool.NewPlanner(simOpens, rand.New(rand.NewPCG(1, 2)))
	}
	s.ready = max(0, fixed)
	tick := l.horizon // a fixed size needs no looks
	if s.planner != nil {
		tick = time.Second
	}
	for _, one := range l.sessions {
		for s.planner != nil && s.now+tick < one.at {
			s.advance(s.now + tick)
			s.look()
		}
		s.advance(one.at)
		s.claim(one.length)
	}
	for s.now < l.horizon {
		s.advance(min(s.now+tick, l.horizon))
		s.look()
	}
	return s.outcome
}

// bestFixed returns the fixed size that would have cost least in hindsight.
func bestFixed(l load) (size int, best outcome) {
	for n := 0; n <= yurt.MaxPool; n++ {
		if o := serve(l, n); n == 0 || o.cost() < best.cost() {
			size, best = n, o
		}
	}
	return size, best
}

var epoch = time.Unix(1_000_000_000, 0) //nolint:gochecknoglobals // the beginning of all simulated time

// poisson makes sessions whose rate, a second, is a function of time.
func poisson(random *rand.Rand, horizon, length time.Duration, peak float64, rate func(time.Duration) float64) []session {
	var list []session
	for at := time.Duration(0); ; {
		at += time.Duration(random.ExpFloat64() / peak * float64(time.Second))
		if at >= horizon {
			return list
		}
		if random.Float64() < rate(at)/peak {
			list = append(list, session{at, time.Duration(random.ExpFloat64() * float64(length))})
		}
	}
}

// bursts makes so many sessions at once, again and again.
func bursts(horizon, gap, length time.Duration, size func(i int) int) []session {
	var list []session
	for i := 0; ; i++ {
		at := time.Second + time.Duration(i)*gap
		if at >= horizon {
			return list
		}
		for k := range size(i) {
			list = append(list, session{at + time.Duration(k)*time.Millisecond, length})
		}
	}
}

func loads() []load {
	random := rand.New(rand.NewPCG(5, 23))
	hour := time.Hour
	justOver := simIdle + simIdle/32 + 3*time.Second
	constant := func(n int) func(int) int { return func(int) int { return n } }
	pulse := append(poisson(random, 2*hour, 20*time.Second, 0.2, func(time.Duration) float64 { return 0.2 }),
		bursts(2*hour, 10*time.Minute, 10*time.Second, constant(50))...)
	slices.SortFunc(pulse, func(a, b session) int { return cmp.Compare(a.at, b.at) })
	return []load{
		{"steady: 2/s, 5 s each", poisson(random, hour, 5*time.Second, 2, func(time.Duration) float64 { return 2 }), hour},
		{"fast: 40/s, 0.1 s each", poisson(random, hour/6, 100*time.Millisecond, 40, func(time.Duration) float64 { return 40 }), hour / 6},
		{"rare: 4/h, 60 s each", poisson(random, 12*hour, time.Minute, 4.0/3600, func(time.Duration) float64 { return 4.0 / 3600 }), 12 * hour},
		{"bursty: 0.2/s, and 50 at once every 10 min", pulse, 2 * hour},
		{"daily: 0 to 0.5/s, 60 s each", poisson(random, 24*hour, time.Minute, 0.5, func(at time.Duration) float64 {
			return 0.25 * (1 - math.Cos(2*math.Pi*at.Hours()/24))
		}), 24 * hour},
		{"ramp: 0 to 20/s in 10 min, 2 s each", poisson(random, 10*time.Minute, 2*time.Second, 20, func(at time.Duration) float64 {
			return 20 * at.Minutes() / 10
		}), 20 * time.Minute},
		{"step: nothing, then 10/s, 2 s each", poisson(random, 20*time.Minute, 2*time.Second, 10, func(at time.Duration) float64 {
			if at < 10*time.Minute {
				return 0
			}
			return 10
		}), 20 * time.Minute},
		{"adversary: one, just after its slot was closed", bursts(4*hour, justOver, time.Second, constant(1)), 4 * hour},
		{"adversary: 50, just after theirs were closed", bursts(4*hour, justOver, time.Second, constant(50)), 4 * hour},
		{"adversary: each burst larger than the last", bursts(4*hour, simIdle/2, time.Second, func(i int) int { return 1 + i }), 4 * hour},
	}
}

// TestRegret holds the policy to its promise on loads of all kinds: it costs at most twice as much as the best fixed size in
// hindsight, and a cold start for each slot that was ever needed, since it begins with an empty pool.
func TestRegret(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "\n| load | sessions | cold | idle, mean | opened | best fixed | cold | idle | cost against it |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, l := range loads() {
		got := serve(l, -1)
		size, best := bestFixed(l)
		mean := func(o outcome) float64 { return o.idle.Seconds() / l.horizon.Seconds() }
		fmt.Fprintf(&table, "| %s | %d | %d | %.1f | %d | %d | %d | %.1f | %.2f |\n", l.name, len(l.sessions),
			got.cold, mean(got), got.opened, size, best.cold, mean(best), got.cost().Seconds()/best.cost().Seconds())
		bound := best.cost()*21/10 + time.Duration(got.peak)*simIdle
		if got.cost() > bound {
			t.Errorf("%s: it cost %v, and may cost %v: %+v; the best fixed size, %d, costs %v: %+v", l.name, got.cost(), bound, got, size, best.cost(), best)
		}
	}
	t.Log(table.String())
}
