package cluster

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const digest = "d1g35t"

func chooserFor(seed uint64) *chooser { return newChooser(rand.New(rand.NewPCG(seed, 1))) }

// TestChoices holds the choice to its promises, for any view and any end of the claims: only a node that may have a warm sandbox is
// asked, the best one first; one is found when it exists; and no claim stays counted in the end.
func TestChoices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := chooserFor(rapid.Uint64().Draw(t, "seed"))
		now := time.Unix(1_000_000, 0)
		nodes := make([]NodeState, rapid.IntRange(0, 40).Draw(t, "nodes"))
		for i := range nodes {
			nodes[i] = NodeState{
				Name: fmt.Sprintf("n%d", i), Healthy: rapid.IntRange(0, 9).Draw(t, "health") > 0,
				Draining: rapid.IntRange(0, 9).Draw(t, "draining") == 0,
				Warm:     map[string]int{digest: rapid.IntRange(0, 3).Draw(t, "warm"), "other": 5},
			}
		}
		var open []attempt
		taken := func(name string) (n int) {
			for _, a := range open {
				if a.node == name {
					n++
				}
			}
			return n
		}
		t.Repeat(map[string]func(*rapid.T){
			"choose": func(t *rapid.T) {
				var skip, prefer []string
				if len(nodes) > 0 && rapid.Bool().Draw(t, "named") {
					skip = []string{rapid.SampledFrom(nodes).Draw(t, "skip").Name}
					prefer = []string{rapid.SampledFrom(nodes).Draw(t, "prefer").Name, "gone"}
				}
				some, hope, liked := false, false, ""
				for i := range nodes {
					at := shelf{nodes[i].Name, digest}
					hope = hope || c.shown(&nodes[i], digest, skip, now) > 0 && !c.ledger.wasRefused(at, now)
					if c.free(&nodes[i], digest, skip, now) > 0 {
						some = true
						if slices.Contains(prefer, nodes[i].Name) {
							liked = nodes[i].Name
						}
					}
				}
				a, ok := c.choose(nodes, digest, prefer, skip, now)
				if ok != (some || hope) {
					t.Fatalf("it chose %+v, %v, and it is %v that there was one, and %v that there may be", a, ok, some, hope)
				}
				if !ok {
					return
				}
				i := slices.IndexFunc(nodes, func(n NodeState) bool { return n.Name == a.node })
				switch n := nodes[i]; {
				case !n.Healthy || n.Draining || slices.Contains(skip, n.Name):
					t.Fatalf("it chose %+v", n)
				case some && taken(a.node) >= n.Warm[digest]:
					t.Fatalf("it takes a %dth sandbox from %+v", taken(a.node)+1, n)
				case liked != "" && a.node != liked:
					t.Fatalf("it chose %s, and %s was preferred", a.node, liked)
				}
				open = append(open, a)
			},
			"done": func(t *rapid.T) {
				if len(open) == 0 {
					t.Skip("none is open")
				}
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				how := rapid.SampledFrom([]outcome{claimGot, claimRefused, claimFailed}).Draw(t, "how")
				a := open[i]
				c.done(a, how, now)
				open = slices.Delete(open, i, i+1)
				j := slices.IndexFunc(nodes, func(n NodeState) bool { return n.Name == a.node })
				if free := c.free(&nodes[j], digest, nil, now); how != claimGot && free > 0 {
					t.Fatalf("after outcome %d the node has %d free", how, free)
				}
			},
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 400).Draw(t, "ms")) * time.Millisecond)
			},
			"": func(*rapid.T) {},
		})
		for _, a := range open {
			c.done(a, claimGot, now)
		}
		c.ledger.sweep(now.Add(2 * settleTime))
		if len(c.ledger.debts) > 0 {
			t.Fatalf("in the end it counts %+v", c.ledger.debts)
		}
	})
}

// TestTwoChoices: load is spread so that no node is much more used than another.
func TestTwoChoices(t *testing.T) {
	c := chooserFor(7)
	nodes := make([]NodeState, 100)
	for i := range nodes {
		nodes[i] = NodeState{Name: fmt.Sprintf("n%d", i), Healthy: true, Warm: map[string]int{digest: 20}}
	}
	used := map[string]int{}
	for range 1000 {
		a, ok := c.choose(nodes, digest, nil, nil, time.Unix(1, 0))
		if !ok {
			t.Fatal("it found none")
		}
		used[a.node]++
	}
	most := 0
	for _, n := range used {
		most = max(most, n)
	}
	if most > 13 || len(used) < 100 {
		t.Errorf("of 1000 claims on 100 nodes one got %d, and %d nodes got any", most, len(used))
	}
}

// TestBreaker follows a node that fails out of rotation and back.
func TestBreaker(t *testing.T) {
	b := newBreaker(func() float64 { return 0 })
	now := time.Unix(1, 0)
	step := func(want bool, what string) {
		t.Helper()
		if got := b.allows("n", now); got != want {
			t.Fatalf("%s: allowed is %v", what, got)
		}
	}
	step(true, "at first")
	b.begin("n")
	b.end("n", true, now)
	b.end("n", true, now) // another that began before
	step(false, "after a failure")
	now = now.Add(restLeast)
	step(true, "after its rest")
	b.begin("n")
	step(false, "while the one trial goes on")
	b.end("n", true, now)
	now = now.Add(restLeast)
	step(false, "after as long a rest as before")
	now = now.Add(restLeast)
	step(true, "after twice as long a rest")
	if n := b.open(now); n != 0 {
		t.Errorf("%d are out of rotation", n)
	}
	b.begin("n")
	b.end("n", false, now)
	step(true, "when it is well")
	if len(b.nodes) != 0 {
		t.Errorf("it still knows %v", b.nodes)
	}
	for range 100 {
		b.begin("n")
		b.end("n", true, now)
		if rest := b.nodes["n"].until.Sub(now); rest > restMost {
			t.Fatalf("it rests %v", rest)
		}
		now = b.nodes["n"].until
	}
}

// TestTaken: sandboxes that are being claimed, or were claimed just now, no longer count as ready.
func TestTaken(t *testing.T) {
	l, now := newLedger(), time.Now()
	want := func(what string, count int) {
		t.Helper()
		if got := l.taken(now)["digest"]; got != count {
			t.Errorf("%s %d are taken, want %d", what, got, count)
		}
	}
	want("at first", 0)
	l.begin(shelf{"a", "digest"}, now)
	l.begin(shelf{"b", "digest"}, now)
	l.begin(shelf{"b", "other"}, now)
	want("while two are claimed", 2)
	l.end(shelf{"a", "digest"}, claimGot, now)
	l.end(shelf{"b", "digest"}, claimRefused, now)
	want("after one was got and one refused", 1)
	now = now.Add(settleTime)
	want("once the view shows it", 0)
}
