package pool_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/pool"
)

func template(name string, least, most int) yurt.Template {
	return yurt.Template{Name: name, WarmPool: yurt.WarmPool{Min: least, Max: most, IdleTimeout: yurt.Duration(time.Minute)}}
}

func newPlanner(opens int) *pool.Planner {
	return pool.NewPlanner(opens, rand.New(rand.NewPCG(3, 4)))
}

// world carries plans out at random times, and not always.
type world struct {
	at        time.Time
	planner   *pool.Planner
	templates []yurt.Template
	stock     map[string]pool.Stock
	opening   []yurt.Template
}

func (w *world) change(digest string, change func(*pool.Stock)) {
	s := w.stock[digest]
	change(&s)
	w.stock[digest] = s
}

func (w *world) look(t *rapid.T, opens int) {
	plan := w.planner.Look(w.at, w.templates, w.stock)
	w.opening = append(w.opening, plan.Open...)
	if len(w.opening) > opens {
		t.Fatalf("%d slots are opened at once, and %d may be", len(w.opening), opens)
	}
	for _, c := range plan.Close {
		if ready := w.stock[c.Digest].Ready; c.Slots < 1 || c.Slots > ready {
			t.Fatalf("it closes %d slots of which %d are idle", c.Slots, ready)
		}
		w.change(c.Digest, func(s *pool.Stock) { s.Ready -= c.Slots })
	}
	for _, one := range w.templates {
		state, busy := w.planner.State(one), w.stock[one.Digest()].Busy
		if most := one.WarmPool.Max; state.Target > most || state.Target < min(one.WarmPool.Min, most) {
			t.Fatalf("with %d busy it wants %d ready of %s, whose bounds are %+v", busy, state.Target, one.Name, one.WarmPool)
		}
	}
}

// finish has the slot that was planned first open, or fail.
func (w *world) finish(err error) {
	one := w.opening[0]
	w.opening = w.opening[1:]
	if err == nil {
		w.change(one.Digest(), func(s *pool.Stock) { s.Ready++ })
	}
	w.planner.Opened(w.at, one, 80*time.Millisecond, err)
}

func (w *world) claim(digest string) {
	w.change(digest, func(s *pool.Stock) {
		if s.Ready == 0 {
			s.Misses, s.Owed = s.Misses+1, s.Owed+1
			return
		}
		s.Ready, s.Busy, s.Hits = s.Ready-1, s.Busy+1, s.Hits+1
	})
}

// TestPlans: a planner keeps its bounds and closes only idle slots, in any world; and after a long time without sessions each
// pool is at its least, with no changes to make.
func TestPlans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		opens := rapid.IntRange(1, 8).Draw(t, "opens")
		w := &world{at: epoch, planner: newPlanner(opens), stock: map[string]pool.Stock{}}
		for _, name := range []string{"a", "b", "c"} {
			least := rapid.IntRange(0, 5).Draw(t, "min")
			w.templates = append(w.templates, template(name, least, least+rapid.IntRange(0, 20).Draw(t, "more")))
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { w.look(t, opens) },
			"time": func(t *rapid.T) {
				w.at = w.at.Add(time.Duration(rapid.Int64Range(0, int64(90*time.Second)).Draw(t, "passes")))
			},
			"claim": func(t *rapid.T) {
				digest := rapid.SampledFrom(w.templates).Draw(t, "of").Digest()
				for range rapid.IntRange(1, 30).Draw(t, "claims") {
					w.claim(digest)
				}
			},
			"end": func(t *rapid.T) {
				w.change(rapid.SampledFrom(w.templates).Draw(t, "of").Digest(), func(s *pool.Stock) {
					n := rapid.IntRange(0, s.Busy).Draw(t, "sessions")
					s.Busy, s.Ready = s.Busy-n, s.Ready+n
				})
			},
			"open": func(t *rapid.T) {
				if len(w.opening) == 0 {
					t.Skip()
				}
				w.finish(nil)
			},
			"fail": func(t *rapid.T) {
				if len(w.opening) == 0 {
					t.Skip()
				}
				w.finish(errors.New("no room"))
			},
			"a node is lost": func(t *rapid.T) {
				w.stock[rapid.SampledFrom(w.templates).Draw(t, "of").Digest()] = pool.Stock{}
			},
		})
		for digest := range w.stock {
			w.change(digest, func(s *pool.Stock) { s.Ready, s.Busy = s.Ready+s.Busy, 0 })
		}
		for range 400 {
			w.at = w.at.Add(time.Second)
			for len(w.opening) > 0 {
				w.finish(nil)
			}
			w.look(t, opens)
		}
		for _, one := range w.templates {
			if ready := w.stock[one.Digest()].Ready; ready != one.WarmPool.Min {
				t.Fatalf("long after the last claim %d of %s are ready, and %d should be", ready, one.Name, one.WarmPool.Min)
			}
		}
	})
}

// TestBurst: the slots that a burst takes are opened again at once, a few at a time.
func TestBurst(t *testing.T) {
	one := template("a", 0, 100)
	digest := one.Digest()
	planner, stock := newPlanner(8), map[string]pool.Stock{digest: {Ready: 10}}
	planner.Look(epoch, []yurt.Template{one}, stock)
	stock[digest] = pool.Stock{Busy: 10, Hits: 10, Misses: 20, Owed: 20}
	at, total := epoch.Add(50*time.Millisecond), 0
	for {
		plan := planner.Look(at, []yurt.Template{one}, stock)
		if len(plan.Open) == 0 {
			break
		}
		if total += len(plan.Open); len(plan.Open) > 8 {
			t.Fatalf("it opens %d at once", len(plan.Open))
		}
		at = at.Add(80 * time.Millisecond)
		s := stock[digest]
		s.Ready += len(plan.Open)
		stock[digest] = s
		for _, o := range plan.Open {
			planner.Opened(at, o, 80*time.Millisecond, nil)
		}
	}
	if total < 20 || total > 25 {
		t.Errorf("after 10 claims that found one and 20 that did not it opened %d", total)
	}
}

// TestSlowOpening: claims that find no sandbox while slots open slowly all count as demand, also one after the other.
func TestSlowOpening(t *testing.T) {
	one := template("a", 0, 100)
	planner, at := newPlanner(1), epoch
	planner.Look(at, []yurt.Template{one}, nil)
	for i := range 6 {
		at = at.Add(200 * time.Millisecond)
		n := int64(i + 1)
		planner.Look(at, []yurt.Template{one}, map[string]pool.Stock{one.Digest(): {Misses: n, Owed: n}})
	}
	if state := planner.State(one); state.Target != 6 || state.Pending != 1 {
		t.Errorf("after six misses it is %+v", state)
	}
}

// TestSlowRefills: where a slot takes long to make its next sandbox, no second slot is opened in its place.
func TestSlowRefills(t *testing.T) {
	planner, one, at := newPlanner(8), template("one", 10, 20), time.Unix(1000, 0)
	stock := map[string]pool.Stock{one.Digest(): {Ready: 10, Busy: 4}}
	look := func(when string, opened int) {
		t.Helper()
		at = at.Add(100 * time.Millisecond)
		if plan := planner.Look(at, []yurt.Template{one}, stock); len(plan.Open) != opened || len(plan.Close) != 0 {
			t.Errorf("%s it opens %d and closes %v; want %d", when, len(plan.Open), plan.Close, opened)
		}
	}
	look("full", 0)
	stock[one.Digest()] = pool.Stock{Busy: 14, Making: 10, Hits: 10}
	for range 20 {
		look("while all are made again", 0)
	}
	if state := planner.State(one); state.Target != 10 {
		t.Errorf("it wants %d ready", state.Target)
	}
	stock[one.Digest()] = pool.Stock{Busy: 14, Making: 7, Hits: 13}
	look("when three more are claimed", 3)
}

// TestFairness: one pool that lacks much does not keep the others from theirs.
func TestFairness(t *testing.T) {
	small, large := template("small", 1, 1), template("large", 100, 100)
	opened := map[string]int{}
	for _, o := range newPlanner(4).Look(epoch, []yurt.Template{large, small}, nil).Open {
		opened[o.Name]++
	}
	if opened["small"] != 1 || opened["large"] != 3 {
		t.Errorf("it opens %v", opened)
	}
}

// TestBackoff: a pool whose slots fail is tried less and less, one at a time, and the others
// are not kept waiting.
func TestBackoff(t *testing.T) {
	bad, good := template("bad", 20, 20), template("good", 1, 1)
	planner, at, tries := newPlanner(4), epoch, 0
	for range 10 * 60 * 10 {
		for i, o := range planner.Look(at, []yurt.Template{bad, good}, nil).Open {
			if o.Name == "good" {
				planner.Opened(at, o, time.Millisecond, nil)
				continue
			}
			if tries > 4 && i > 1 {
				t.Fatalf("it opens several although none succeeds")
			}
			tries++
			planner.Opened(at, o, time.Millisecond, errors.New("no room"))
		}
		at = at.Add(100 * time.Millisecond)
	}
	if tries < 10 || tries > 50 {
		t.Errorf("in ten minutes it was tried %d times", tries)
	}
	if pool := planner.State(bad); pool.Failure != "no room" || pool.Pending != 0 {
		t.Errorf("it says %+v", pool)
	}
}

// TestChangedTemplate: the pool of a template with new content is replaced at the same size, and the pool of a removed template
// ends.
func TestChangedTemplate(t *testing.T) {
	before := template("a", 1, 20)
	after := before
	after.Env = map[string]string{"VERSION": "2"}
	planner := newPlanner(50)
	stock := map[string]pool.Stock{before.Digest(): {Ready: 7, Busy: 2}}
	if plan := planner.Look(epoch, []yurt.Template{before}, stock); len(plan.Open)+len(plan.Close) > 0 {
		t.Errorf("what it found does not count as needed: %+v", plan)
	}
	plan := planner.Look(epoch.Add(time.Second), []yurt.Template{after}, stock)
	if len(plan.Open) != 9 || plan.Open[0].Digest() != after.Digest() {
		t.Errorf("it opens %d", len(plan.Open))
	}
	if len(plan.Close) != 1 || plan.Close[0] != (pool.Closing{Digest: before.Digest(), Slots: 7}) {
		t.Errorf("it closes %+v", plan.Close)
	}
	if plan := planner.Look(epoch.Add(2*time.Second), nil, stock); len(plan.Open) != 0 || len(plan.Close) != 1 {
		t.Errorf("without a template it plans %+v", plan)
	}
}

// TestGivesWay: a slot that was closed for a waiting session stays closed for a while.
func TestGivesWay(t *testing.T) {
	one := template("a", 5, 5)
	planner, stock := newPlanner(5), map[string]pool.Stock{one.Digest(): {Ready: 5}}
	planner.Look(epoch, []yurt.Template{one}, stock)
	planner.GaveWay(epoch, one.Digest())
	stock[one.Digest()] = pool.Stock{Ready: 3}
	if plan := planner.Look(epoch.Add(time.Second), []yurt.Template{one}, stock); len(plan.Open) != 0 {
		t.Errorf("a second later it opens %d", len(plan.Open))
	}
	if plan := planner.Look(epoch.Add(time.Minute), []yurt.Template{one}, stock); len(plan.Open) == 0 {
		t.Error("a minute later it opens none")
	}
}

// TestCountersBeginAgain: a node that was started again counts from 0, which is no claim.
func TestCountersBeginAgain(t *testing.T) {
	one := template("a", 0, 50)
	planner, stock := newPlanner(5), map[string]pool.Stock{one.Digest(): {Ready: 1, Hits: 1000, Misses: 500, Owed: 500}}
	planner.Look(epoch, []yurt.Template{one}, stock)
	stock[one.Digest()] = pool.Stock{Ready: 1, Hits: 1}
	planner.Look(epoch.Add(time.Second), []yurt.Template{one}, stock)
	if state := planner.State(one); state.Target > 2 {
		t.Errorf("it is %+v", state)
	}
}
