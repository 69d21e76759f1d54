package cluster_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/cluster"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/nodetest"
)

// world is a cluster in this process: nodes, a view of them, and an engine that grants slots on the first.
type world struct {
	t      *testing.T
	placer *cluster.Placer

	mu      sync.Mutex
	nodes   map[string]*node
	view    []cluster.NodeState
	changed chan struct{}
	live    bool
	since   time.Time
	slots   map[string]cluster.Order
	stopped []string
	failed  map[string]error  // slots of which the engine says so
	moved   map[string]string // slots that are on other nodes than Start said
	refuse  error
	engine  map[string]cluster.EngineNode // nodes that are not ready, as the engine says
}

// node is an executor that can be made not to answer.
type node struct {
	*nodetest.Node
	name  string
	world *world

	mu     sync.Mutex
	claims int
	hang   bool
	broken error
	closed int
}

func newWorld(t *testing.T, names ...string) *world {
	w := &world{t: t, nodes: map[string]*node{}, changed: make(chan struct{}), live: true, since: time.Now(), slots: map[string]cluster.Order{}}
	for _, name := range names {
		w.nodes[name] = &node{Node: nodetest.New(), name: name, world: w}
	}
	var err error
	w.placer, err = cluster.New(cluster.Config{
		View: w, Engine: w, Dial: func(name, _ string) (cluster.Client, error) { return w.nodes[name], nil },
		Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.placer.Close(); err != nil {
			t.Errorf("closing the placer: %v", err)
		}
	})
	w.refresh()
	return w
}

// refresh makes the view true.
func (w *world) refresh() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.view = nil
	for name, n := range w.nodes {
		state := cluster.NodeState{Name: name, Address: name + ":1", Healthy: true, Warm: map[string]int{}}
		reserves, err := n.Reserves(w.t.Context())
		if err != nil {
			w.t.Error(err)
		}
		for _, r := range reserves {
			state.Warm[r.Digest] = r.Ready
		}
		w.view = append(w.view, state)
	}
	slices.SortFunc(w.view, func(a, b cluster.NodeState) int { return len(a.Name) - len(b.Name) })
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *world) warm(name string, count int) {
	w.t.Helper()
	for range count {
		if _, err := w.nodes[name].ReserveSandbox(w.t.Context(), template()); err != nil {
			w.t.Fatal(err)
		}
	}
	w.refresh()
}

func template() yurt.Template { return nodetest.Templates()[0] }

func spec() yurt.SandboxSpec {
	return yurt.SandboxSpec{
		ID: yurt.NewSandboxID(), Template: template(), Resources: yurt.DefaultResources(),
		Env: map[string]string{"SECRET": "s3cret"}, Labels: map[string]string{yurt.SessionLabel: yurt.NewSessionID()},
	}
}

func (w *world) place(prefer ...string) (yurt.Sandbox, yurt.Placement) {
	w.t.Helper()
	sandbox, placement, err := w.placer.Place(w.t.Context(), spec(), contract.Hints{Prefer: prefer})
	if err != nil {
		w.t.Fatal(err)
	}
	if sandbox.Node != placement.Node || placement.Node == "" {
		w.t.Errorf("it says it is on %q and on %q", sandbox.Node, placement.Node)
	}
	return sandbox, placement
}

// The world is the view.

func (w *world) Nodes() []cluster.NodeState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.view
}

func (w *world) Node(name string) (cluster.NodeState, bool) {
	for _, n := range w.Nodes() {
		if n.Name == name {
			return n, true
		}
	}
	return cluster.NodeState{}, false
}

func (w *world) Changed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

func (w *world) Status() (live bool, since time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.live, w.since, nil
}

// And it is the engine.

func (w *world) Start(_ context.Context, order cluster.Order) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		return "", w.refuse
	}
	nodes := slices.Concat(order.Prefer, slices.Sorted(maps.Keys(w.nodes)))
	nodes = slices.DeleteFunc(nodes, func(name string) bool { return slices.Contains(order.Avoid, name) })
	if len(nodes) == 0 {
		return "", yurt.Errorf(yurt.CodeUnavailable, "no node is eligible")
	}
	w.slots[order.SlotID] = order
	return nodes[0], nil
}

func (w *world) Stop(_ context.Context, slotID string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = append(w.stopped, slotID)
	delete(w.slots, slotID)
	return nil
}

func (w *world) Jobs(context.Context) ([]cluster.Job, error) { return nil, nil }

func (w *world) open() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.slots)
}

func (n *node) ClaimSandbox(ctx context.Context, spec yurt.SandboxSpec) (yurt.Sandbox, bool, error) {
	n.mu.Lock()
	n.claims++
	hang, broken := n.hang, n.broken
	n.mu.Unlock()
	if broken != nil {
		return yurt.Sandbox{}, false, broken
	}
	sandbox, found, err := n.Node.ClaimSandbox(ctx, spec)
	if hang { // it did its work, and its answer is lost
		<-ctx.Done()
		return yurt.Sandbox{}, false, ctx.Err()
	}
	return sandbox, found, err
}

func (n *node) AwaitSandbox(ctx context.Context, spec yurt.SandboxSpec, slotID string) (yurt.Sandbox, error) {
	n.world.mu.Lock()
	order, ok := n.world.slots[slotID]
	n.world.mu.Unlock()
	if !ok || order.SessionID != spec.Labels[yurt.SessionLabel] || !order.Once {
		return yurt.Sandbox{}, yurt.Errorf(yurt.CodeSandboxFailed, "slot %s is %+v", slotID, order)
	}
	n.mu.Lock()
	broken := n.broken
	n.mu.Unlock()
	if broken != nil {
		return yurt.Sandbox{}, broken
	}
	return n.CreateSandbox(ctx, spec)
}

// WatchSlots shows no slot: this node has sandboxes without one.
func (n *node) WatchSlots(ctx context.Context, _ string, _ func([]yurt.Slot) error) error {
	<-ctx.Done()
	return ctx.Err()
}

func (n *node) RetireSlots(context.Context, string, int) ([]string, error) { return nil, nil }

func (n *node) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed++
	return nil
}

func (n *node) set(change func(*node)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(n)
}

// TestPlace: warm where a node has a sandbox, where the agent was if possible, otherwise cold; and the answer says so.
func TestPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "bb", "ccc")
		w.warm("bb", 2)
		w.warm("ccc", 1)
		if _, p := w.place("a", "ccc"); p.Kind != yurt.PlacementWarm || p.Node != "ccc" {
			t.Errorf("with a preference it is %+v", p)
		}
		for range 2 {
			if _, p := w.place("ccc"); p.Kind != yurt.PlacementWarm || p.Node != "bb" {
				t.Errorf("elsewhere it is %+v", p)
			}
		}
		sandbox, p := w.place()
		if p.Kind != yurt.PlacementCold || p.Node != "a" || w.open() != 1 {
			t.Errorf("without any it is %+v with %d slots", p, w.open())
		}
		if _, ok := p.Phases["await"]; !ok {
			t.Errorf("its phases are %v", p.Phases)
		}
		for _, n := range w.nodes {
			if n.claims > 3 { // the last time since its view is old
				t.Errorf("node %s was asked %d times", n.name, n.claims)
			}
		}
		if err := w.placer.Release(t.Context(), yurt.Session{ID: "ses_warm", Placement: yurt.Placement{Kind: yurt.PlacementWarm}}); err != nil || w.open() != 1 {
			t.Errorf("releasing a warm session: %v", err)
		}
		if err := w.placer.Release(t.Context(), yurt.Session{ID: sandbox.Labels[yurt.SessionLabel], Placement: p}); err != nil || w.open() != 0 {
			t.Errorf("releasing a cold one: %v", err)
		}
	})
}

// TestPlaceWhatFails: a node that does not answer is passed over and left alone for a while, and a sandbox that it may have
// handed out is destroyed.
func TestPlaceWhatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "bb")
		w.warm("a", 3)
		w.warm("bb", 3)
		w.nodes["a"].set(func(n *node) { n.hang = true })
		if _, p := w.place("a"); p.Kind != yurt.PlacementWarm || p.Node != "bb" {
			t.Errorf("past a node that hangs it is %+v", p)
		}
		w.nodes["a"].set(func(n *node) { n.hang = false })
		synctest.Wait()
		if got := w.nodes["a"].Count(); got != 2 {
			t.Errorf("the node that hung has %d sandboxes, and one of 3 was claimed", got)
		}
		if _, p := w.place("a"); p.Node != "bb" {
			t.Errorf("right after it failed, it is on %s", p.Node)
		}
		time.Sleep(time.Minute)
		w.refresh()
		if _, p := w.place("a"); p.Node != "a" {
			t.Errorf("a minute later it is on %s", p.Node)
		}
		// A request that is at fault takes no node out of rotation.
		w.nodes["a"].set(func(n *node) { n.broken = yurt.Errorf(yurt.CodeLimitOutOfRange, "no") })
		w.place("a")
		w.nodes["a"].set(func(n *node) { n.broken = nil })
		time.Sleep(time.Second)
		w.refresh()
		if _, p := w.place("a"); p.Node != "a" {
			t.Errorf("after a request that was at fault it is on %s", p.Node)
		}
	})
}

// TestCallersThatLeave: a claim that ends with its caller takes no node out of rotation, and the sandbox that the node may have handed
// out is destroyed.
func TestCallersThatLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "bb")
		w.warm("a", 3)
		w.warm("bb", 3)
		w.nodes["a"].set(func(n *node) { n.hang = true })
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, leave)
		if _, _, err := w.placer.Place(ctx, spec(), contract.Hints{Prefer: []string{"a"}}); yurt.CodeOf(err) != yurt.CodeCanceled {
			t.Errorf("a claim whose caller left has the error %v", err)
		}
		w.nodes["a"].set(func(n *node) { n.hang = false })
		synctest.Wait()
		if got := w.nodes["a"].Count(); got != 2 {
			t.Errorf("the node has %d sandboxes, and one of 3 was claimed", got)
		}
		if _, p := w.place("a"); p.Node != "a" || p.Kind != yurt.PlacementWarm {
			t.Errorf("right after a caller left, it is %+v", p)
		}
	})
}

// TestPlaceThatFails: a placement that fails leaves no trace.
func TestPlaceThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a")
		w.refuse = yurt.Errorf(yurt.CodeOverloaded, "no node has 4 GiB free")
		_, _, err := w.placer.Place(t.Context(), spec(), contract.Hints{})
		if yurt.CodeOf(err) != yurt.CodeOverloaded || err.Error() != "no node has 4 GiB free" {
			t.Errorf("what the engine said came out as %v", err)
		}
		w.refuse = nil
		w.nodes["a"].set(func(n *node) { n.broken = yurt.Errorf(yurt.CodeSandboxFailed, "its init died") })
		if _, _, err = w.placer.Place(t.Context(), spec(), contract.Hints{}); yurt.CodeOf(err) != yurt.CodeSandboxFailed {
			t.Errorf("a slot that failed: %v", err)
		}
		// The node is away: it is waited for, not for ever, and not beyond the caller.
		w.nodes["a"].set(func(n *node) { n.broken = yurt.Errorf(yurt.CodeUnavailable, "away") })
		time.AfterFunc(10*time.Second, func() { w.nodes["a"].set(func(n *node) { n.broken = nil }) })
		if _, p := w.place(); p.Kind != yurt.PlacementCold {
			t.Errorf("after a while it is %+v", p)
		}
		w.nodes["a"].set(func(n *node) { n.broken = yurt.Errorf(yurt.CodeUnavailable, "away") })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := w.placer.Place(ctx, spec(), contract.Hints{}); err == nil {
			t.Error("it waits for ever")
		}
		synctest.Wait()
		if w.open() != 1 || w.nodes["a"].Count() != 1 || len(w.stopped) != 2 {
			t.Errorf("left: %d slots, %d sandboxes; stopped %v", w.open(), w.nodes["a"].Count(), w.stopped)
		}
		// A caller that leaves while it claims.
		w.nodes["a"].set(func(n *node) { n.broken = nil })
		w.warm("a", 1)
		w.nodes["a"].set(func(n *node) { n.hang = true })
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := w.placer.Place(ctx, spec(), contract.Hints{}); err == nil || w.open() != 1 {
			t.Errorf("after the caller left: %v, %d slots", err, w.open())
		}
		synctest.Wait()
		if got := w.nodes["a"].Count(); got != 1 {
			t.Errorf("%d sandboxes are left", got)
		}
	})
}

// TestRace: of many callers that want few sandboxes at once, each gets one of its own.
func TestRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "bb", "ccc")
		for name := range w.nodes {
			w.warm(name, 20)
		}
		var (
			clients sync.WaitGroup
			mu      sync.Mutex
			got     = map[string]bool{}
			kinds   = map[yurt.PlacementKind]int{}
		)
		for range 100 {
			clients.Go(func() {
				sandbox, p := w.place()
				mu.Lock()
				defer mu.Unlock()
				if id := fmt.Sprintf("%s/%s", p.Node, sandbox.ID); got[id] {
					t.Errorf("%s was handed out twice", id)
				} else {
					got[id] = true
				}
				kinds[p.Kind]++
			})
		}
		clients.Wait()
		if kinds[yurt.PlacementWarm] != 60 || kinds[yurt.PlacementCold] != 40 {
			t.Errorf("they got %v of 60 warm sandboxes", kinds)
		}
	})
}

// TestNodesComeAndGo: a node that stops to announce itself is reached where it was, then it is lost; while the view is not up to
// date, no node is lost.
func TestNodesComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "bb")
		want := func(name string, code yurt.Code) {
			t.Helper()
			if _, err := w.placer.Node(t.Context(), name); yurt.CodeOf(err) != code {
				t.Errorf("node %s: %v, want %q", name, err, code)
			}
		}
		nodes, err := w.placer.Nodes(t.Context())
		if err != nil || len(nodes) != 2 {
			t.Fatalf("there are %v, %v", nodes, err)
		}
		gone := w.nodes["bb"]
		delete(w.nodes, "bb")
		w.refresh()
		want("bb", "")
		want("other", yurt.CodeUnavailable)
		w.mu.Lock()
		w.live = false
		w.mu.Unlock()
		time.Sleep(time.Hour)
		want("bb", "")
		w.mu.Lock()
		w.live, w.since = true, time.Now()
		w.mu.Unlock()
		time.Sleep(3 * time.Second)
		want("bb", "")
		time.Sleep(time.Minute)
		want("bb", yurt.CodeNotFound)
		want("other", yurt.CodeNotFound)
		if gone.closed != 1 {
			t.Errorf("its connection was closed %d times", gone.closed)
		}
		w.nodes["bb"] = gone
		w.refresh()
		want("bb", "")
	})
}
