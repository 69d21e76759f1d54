package cluster

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
)

// The simulation runs the real code that places sessions; nodes, the view and time are models of executors and Consul.
const (
	simNodes     = 1000
	simTemplates = 10
	simSpare     = 0.1                   // slots of a template that are warm, of those that are claimed
	simLife      = 60 * time.Second      // of a session, in the mean
	simPublish   = 50 * time.Millisecond // a node publishes at most this often
	simRefill    = 80 * time.Millisecond // from the end of a session to the next warm sandbox in its slot
	simWay       = 500 * time.Microsecond
)

// simulation is a cluster in a time of its own.
type simulation struct {
	sessions int // that live at once
	delay    time.Duration
	random   *rand.Rand
	now      time.Time
	events   events
	digests  []string
	weights  []float64 // cumulative popularity of templates
	nodes    []simNode
	view     []NodeState
	choosers []*chooser

	creates, second, third, cold int
	writes                       int
}

type simNode struct {
	warm      []int
	published time.Time
	pending   bool
}

type event struct {
	at   time.Time
	what func()
}

// events is a heap, the next one first.
type events struct{ list []event }

func (e *events) Len() int           { return len(e.list) }
func (e *events) Less(i, j int) bool { return e.list[i].at.Before(e.list[j].at) }
func (e *events) Swap(i, j int)      { e.list[i], e.list[j] = e.list[j], e.list[i] }
func (e *events) Push(x any)         { e.list = append(e.list, x.(event)) }
func (e *events) Pop() any {
	last := e.list[len(e.list)-1]
	e.list = e.list[:len(e.list)-1]
	return last
}

func (s *simulation) after(d time.Duration, what func()) {
	heap.Push(&s.events, event{s.now.Add(d), what})
}

// exponential draws a time whose mean is given.
func (s *simulation) exponential(mean time.Duration) time.Duration {
	return time.Duration(s.random.ExpFloat64() * float64(mean))
}

func (s *simulation) template() int {
	x := s.random.Float64()
	for i, w := range s.weights {
		if x < w {
			return i
		}
	}
	return len(s.weights) - 1
}

// newSimulation makes a cluster that has been at work for long: each template has its
// sessions, by a popularity like Zipf's, on nodes at random, and a tenth as many warm.
func newSimulation(seed uint64, controllers, sessions int, delay time.Duration) *simulation {
	s := &simulation{
		sessions: sessions, delay: delay, random: rand.New(rand.NewPCG(seed, 2)),
		now: time.Unix(1_000_000, 0), nodes: make([]simNode, simNodes), view: make([]NodeState, simNodes),
	}
	total := 0.0
	for i := range simTemplates {
		total += 1 / float64(i+1)
	}
	sum := 0.0
	for i := range simTemplates {
		sum += 1 / float64(i+1) / total
		s.weights = append(s.weights, sum)
		s.digests = append(s.digests, yurt.Template{Name: fmt.Sprintf("template-%d", i)}.Digest())
	}
	for i := range s.nodes {
		s.nodes[i].warm = make([]int, simTemplates)
		s.view[i] = NodeState{Name: fmt.Sprintf("node-%d", i), Healthy: true, Warm: map[string]int{}}
	}
	for range sessions {
		s.live(s.random.IntN(simNodes), s.template())
	}
	for range int(float64(sessions) * simSpare) {
		s.nodes[s.random.IntN(simNodes)].warm[s.template()]++
	}
	for i := range s.nodes {
		s.view[i].Warm = s.warm(i)
	}
	for range controllers {
		s.choosers = append(s.choosers, newChooser(rand.New(rand.NewPCG(s.random.Uint64(), 3))))
	}
	return s
}

// live is a session that has its sandbox: it ends, and its slot makes another sandbox.
func (s *simulation) live(node, template int) {
	s.after(s.exponential(simLife)+simRefill, func() {
		s.nodes[node].warm[template]++
		s.publish(node)
	})
}

func (s *simulation) warm(node int) map[string]int {
	warm := make(map[string]int, simTemplates)
	for template, count := range s.nodes[node].warm {
		if count > 0 {
			warm[s.digests[template]] = count
		}
	}
	return warm
}

// publish has the node write its capacity, at once or when it may again, and the view show it after the delay.
func (s *simulation) publish(node int) {
	n := &s.nodes[node]
	if n.pending {
		return
	}
	n.pending = true
	s.after(max(0, simPublish-s.now.Sub(n.published)), func() {
		n.pending, n.published = false, s.now
		s.writes++
		warm := s.warm(node)
		s.after(s.delay, func() { s.view[node].Warm = warm })
	})
}

// create places a session by one of the controllers.
func (s *simulation) create() {
	s.creates++
	c := s.choosers[s.random.IntN(len(s.choosers))]
	s.claim(c, s.template(), nil)
}

func (s *simulation) claim(c *chooser, template int, asked []string) {
	a, ok := c.choose(s.view, s.digests[template], nil, asked, s.now)
	if !ok || len(asked) == claimNodes {
		s.cold++
		return
	}
	s.after(simWay, func() { // it comes to the node
		node, err := strconv.Atoi(strings.TrimPrefix(a.node, "node-"))
		if err != nil {
			panic(err)
		}
		how := claimRefused
		if warm := s.nodes[node].warm; warm[template] > 0 {
			warm[template]--
			how = claimGot
			s.publish(node)
			s.live(node, template)
		}
		s.after(simWay, func() { // and the answer back
			c.done(a, how, s.now)
			if how == claimRefused {
				if len(asked) == 0 {
					s.second++
				} else {
					s.third++
				}
				s.claim(c, template, append(asked, a.node))
			}
		})
	})
}

// run lets sessions come, as many as end, for a time.
func (s *simulation) run(creates int) time.Duration {
	begin := s.now
	pause := time.Duration(float64(simLife) / float64(s.sessions))
	var arrive func()
	arrive = func() {
		s.create()
		if s.creates < creates {
			s.after(s.exponential(pause), arrive)
		}
	}
	s.after(0, arrive)
	for s.creates < creates {
		next := heap.Pop(&s.events).(event)
		s.now = next.at
		next.what()
	}
	return s.now.Sub(begin)
}

// TestSimulation: 1,000 nodes with 100,000 sessions. Of the claims at most one in a
// hundred has to try a second node, however many controllers there are, and however late
// the view is within reason.
func TestSimulation(t *testing.T) { simulate(t, 10_000) }

// BenchmarkSimulation is the same with ten times as many claims.
func BenchmarkSimulation(b *testing.B) {
	for b.Loop() {
		simulate(b, 100_000)
	}
}

func simulate(tb testing.TB, creates int) {
	const sessions = 100_000
	tb.Logf("%-12s %-8s %8s %8s %8s %10s", "controllers", "delay", "second", "third", "cold", "writes/s")
	for _, controllers := range []int{1, 3, 10} {
		for _, delay := range []time.Duration{5 * time.Millisecond, 50 * time.Millisecond, 150 * time.Millisecond} {
			s := newSimulation(1, controllers, sessions, delay)
			took := s.run(creates)
			share := func(n int) float64 { return 100 * float64(n) / float64(s.creates) }
			tb.Logf("%-12d %-8s %7.3f%% %7.3f%% %7.3f%% %10.0f", controllers, delay, share(s.second), share(s.third), share(s.cold), float64(s.writes)/took.Seconds())
			if share(s.second) > 1 {
				tb.Errorf("with %d controllers and a view %v late, %.2f%% of the claims tried a second node", controllers, delay, share(s.second))
			}
		}
	}
	cost(tb, sessions)
}

// cost returns the load on a controller and on Consul.
func cost(tb testing.TB, sessions int) {
	capacity := yurt.Capacity{Node: "node-1000.dc1.example.com", Address: "10.100.100.100:8701", Version: "0.1.0", Since: time.Now(), MaxSandboxes: 1000}
	capacity.Templates = map[string]yurt.TemplateCapacity{}
	for i := range simTemplates {
		name := fmt.Sprintf("template-%d", i)
		capacity.Templates[yurt.Template{Name: name}.Digest()] = yurt.TemplateCapacity{
			Template: name, Warm: 1, Slots: 11, Claimed: 10, Cached: true, Claims: 1_000_000, Cold: 1000, Refused: 100,
		}
	}
	value, err := json.Marshal(capacity)
	if err != nil {
		tb.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := newSimulation(2, 1, 0, 0)
	for i := range s.view {
		s.view[i].Warm = map[string]int{}
		for _, digest := range s.digests {
			s.view[i].Warm[digest] = 1
			s.view[i].Templates = append(s.view[i].Templates, digest)
		}
	}
	c := s.choosers[0]
	rate := float64(sessions) / simLife.Seconds()
	for range int(math.Ceil(rate * settleTime.Seconds())) { // as many claims as the ledger holds at once
		if a, ok := c.choose(s.view, s.digests[s.template()], nil, nil, s.now); ok {
			c.done(a, claimGot, s.now)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	answer := float64(len(value)*simNodes) * 4 / 3 // Consul answers in base64
	tb.Logf("a node's key has %d bytes; all of them in an answer to a controller, %.1f MB", len(value), answer/1e6)
	tb.Logf("view and ledger of a controller: %.1f MB", float64(after.HeapAlloc-before.HeapAlloc)/1e6)
	runtime.KeepAlive(s)
}

// BenchmarkChoose measures one choice among 1,000 nodes.
func BenchmarkChoose(b *testing.B) {
	for _, spread := range []int{1, 100} { // of how many nodes one has a warm sandbox
		b.Run(fmt.Sprintf("one in %d", spread), func(b *testing.B) {
			s := newSimulation(3, 1, 0, 0)
			for i := range s.view {
				if i%spread == 0 {
					s.view[i].Warm = map[string]int{s.digests[0]: 1 << 20}
				}
			}
			c := s.choosers[0]
			for b.Loop() {
				a, _ := c.choose(s.view, s.digests[0], nil, nil, s.now)
				c.done(a, claimGot, s.now)
				s.now = s.now.Add(time.Millisecond)
			}
		})
	}
}
