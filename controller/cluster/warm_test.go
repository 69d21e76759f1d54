package cluster_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/cluster"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/internal/nodetest"
)

// farm is nodes with slots, an engine that grants a bounded number of them, and a view
// that is late.
type farm struct {
	room  int           // slots that there is room for, on each node
	pause time.Duration // during which watchers of slots get no news

	mu      sync.Mutex
	began   time.Time
	nodes   map[string]*plot
	orders  map[string]cluster.Order // that the engine has
	placed  map[string]string        // their nodes
	started int
	away    map[string]bool               // nodes that the engine does not reach
	engine  map[string]cluster.EngineNode // as it says of nodes that are not ready
	view    []cluster.NodeState
	changed chan struct{}
}

// plot is one node.
type plot struct {
	*nodetest.Node
	farm  *farm
	name  string
	slots map[string]*yurt.Slot
	room  map[string]yurt.Template
	count map[string]yurt.TemplateCapacity
	rung  chan struct{}
}

func newFarm(room int, names ...string) *farm {
	f := &farm{room: room, began: time.Now(), nodes: map[string]*plot{}, orders: map[string]cluster.Order{}, placed: map[string]string{}, changed: make(chan struct{})}
	for _, name := range names {
		f.nodes[name] = &plot{
			Node: nodetest.New(), farm: f, name: name, rung: make(chan struct{}),
			slots: map[string]*yurt.Slot{}, room: map[string]yurt.Template{}, count: map[string]yurt.TemplateCapacity{},
		}
	}
	f.publish()
	return f
}

// controller returns the placer of one more controller of the farm.
func (f *farm) controller(t *testing.T) *cluster.Placer {
	p, err := cluster.New(cluster.Config{
		View: f, Engine: f, Dial: func(name, _ string) (cluster.Client, error) { return f.nodes[name], nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// publish makes the view true. The lock is held.
func (f *farm) publish() {
	view := make([]cluster.NodeState, 0, len(f.nodes))
	for _, name := range slices.Sorted(maps.Keys(f.nodes)) {
		n := f.nodes[name]
		capacity := yurt.Capacity{Node: name, Since: f.began, Templates: maps.Clone(n.count)}
		free := f.room
		warm := map[string]int{}
		for _, s := range n.slots {
			of := capacity.Templates[s.Digest]
			if s.State == yurt.SlotEnded {
				continue
			}
			free--
			of.Slots++
			switch {
			case s.For != "":
				of.Own++
			case s.State == yurt.SlotMaking:
				of.Making++
			case s.State == yurt.SlotReady:
				of.Warm++
				warm[s.Digest]++
			}
			capacity.Templates[s.Digest] = of
		}
		r := yurt.DefaultResources()
		view = append(view, cluster.NodeState{
			Name: name, Address: name + ":1", Healthy: true, Warm: warm, Capacity: capacity,
			Free: yurt.Resources{CPU: r.CPU * float64(free), Memory: r.Memory * yurt.Size(free)},
		})
	}
	f.view = view
	close(f.changed)
	f.changed = make(chan struct{})
}

// later changes a node after a while, and the view 50 ms after that.
func (f *farm) later(d time.Duration, n *plot, change func()) {
	time.AfterFunc(d, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		change()
		n.ring()
	})
}

// ring wakes the watchers of the node. The lock is held.
func (n *plot) ring() {
	close(n.rung)
	n.rung = make(chan struct{})
	time.AfterFunc(50*time.Millisecond, func() {
		n.farm.mu.Lock()
		defer n.farm.mu.Unlock()
		n.farm.publish()
	})
}

func (f *farm) Nodes() []cluster.NodeState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.view
}

func (f *farm) Node(name string) (cluster.NodeState, bool) {
	nodes := f.Nodes()
	i := slices.IndexFunc(nodes, func(n cluster.NodeState) bool { return n.Name == name })
	if i < 0 {
		return cluster.NodeState{}, false
	}
	return nodes[i], true
}

func (f *farm) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

func (f *farm) Status() (bool, time.Time, error) { return true, f.began, nil }

// Start implements cluster.Engine.
func (f *farm) Start(ctx context.Context, order cluster.Order) (string, error) {
	time.Sleep(20 * time.Millisecond)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range append(slices.Clone(order.Prefer), slices.Sorted(maps.Keys(f.nodes))...) {
		n, used := f.nodes[name], 0
		for id := range f.orders {
			if f.placed[id] == name {
				used++
			}
		}
		if used >= f.room {
			continue
		}
		f.started++
		f.orders[order.SlotID], f.placed[order.SlotID] = order, name
		slot := &yurt.Slot{ID: order.SlotID, Digest: order.Template.Digest(), For: order.SessionID, State: yurt.SlotMaking}
		f.later(20*time.Millisecond, n, func() { n.slots[order.SlotID], n.room[order.SlotID] = slot, order.Template })
		f.later(60*time.Millisecond, n, func() { slot.State = yurt.SlotReady })
		return name, ctx.Err()
	}
	return "", yurt.Errorf(yurt.CodeOverloaded, "no node has room")
}

// Stop implements cluster.Engine.
func (f *farm) Stop(_ context.Context, slotID string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.nodes[f.placed[slotID]]; n != nil {
		delete(n.slots, slotID)
		n.ring()
	}
	delete(f.orders, slotID)
	delete(f.placed, slotID)
	return nil
}

// Jobs implements cluster.Engine.
func (f *farm) Jobs(context.Context) ([]cluster.Job, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var jobs []cluster.Job
	for id, order := range f.orders {
		jobs = append(jobs, cluster.Job{SlotID: id, SessionID: order.SessionID, Digest: order.Template.Digest(), Node: f.placed[id], Away: f.away[f.placed[id]]})
	}
	return jobs, nil
}

func (n *plot) Close() error { return nil }

func (n *plot) ClaimSandbox(_ context.Context, spec yurt.SandboxSpec) (yurt.Sandbox, bool, error) {
	return n.take(spec, func(s *yurt.Slot) bool { return s.For == "" })
}

func (n *plot) take(spec yurt.SandboxSpec, from func(*yurt.Slot) bool) (yurt.Sandbox, bool, error) {
	n.farm.mu.Lock()
	defer n.farm.mu.Unlock()
	digest := spec.Template.Digest()
	for _, s := range n.slots {
		if s.State == yurt.SlotReady && s.Digest == digest && from(s) {
			s.State, s.SandboxID = yurt.SlotClaimed, spec.ID
			of := n.count[digest]
			if s.For == "" {
				of.Claims++
			} else {
				of.Cold++
			}
			n.count[digest] = of
			n.ring()
			return yurt.Sandbox{ID: spec.ID, Slot: s.ID, Labels: spec.Labels}, true, nil
		}
	}
	return yurt.Sandbox{}, false, nil
}

func (n *plot) AwaitSandbox(ctx context.Context, spec yurt.SandboxSpec, slotID string) (yurt.Sandbox, error) {
	for {
		n.farm.mu.Lock()
		rung := n.rung
		n.farm.mu.Unlock()
		coming := slotID != ""
		sandbox, found, err := n.take(spec, func(s *yurt.Slot) bool {
			return s.ID == slotID || slotID == "" && s.For == ""
		})
		if found || err != nil {
			return sandbox, err
		}
		n.farm.mu.Lock()
		for _, s := range n.slots {
			coming = coming || s.For == "" && s.State == yurt.SlotMaking && s.Digest == spec.Template.Digest()
		}
		n.farm.mu.Unlock()
		if !coming {
			return yurt.Sandbox{}, yurt.Errorf(yurt.CodeNotFound, "none is coming")
		}
		select {
		case <-rung:
		case <-ctx.Done():
			return yurt.Sandbox{}, ctx.Err()
		}
	}
}

// DestroySandbox has the slot make another.
func (n *plot) DestroySandbox(_ context.Context, id string) error {
	n.farm.mu.Lock()
	defer n.farm.mu.Unlock()
	for _, s := range n.slots {
		if s.SandboxID == id {
			s.SandboxID, s.State = "", yurt.SlotMaking
			n.farm.later(70*time.Millisecond, n, func() { s.State = yurt.SlotReady })
			n.ring()
		}
	}
	return nil
}

func (n *plot) WatchSlots(ctx context.Context, _ string, each func([]yurt.Slot) error) error {
	for {
		n.farm.mu.Lock()
		rung := n.rung
		list := make([]yurt.Slot, 0, len(n.slots))
		for _, s := range n.slots {
			list = append(list, *s)
		}
		n.farm.mu.Unlock()
		if err := each(list); err != nil {
			return err
		}
		time.Sleep(n.farm.pause)
		select {
		case <-rung:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (n *plot) RetireSlots(_ context.Context, digest string, most int) ([]string, error) {
	n.farm.mu.Lock()
	defer n.farm.mu.Unlock()
	var ids []string
	for id, s := range n.slots {
		if len(ids) < most && s.State == yurt.SlotReady && s.Digest == digest && s.For == "" {
			s.State = yurt.SlotEnded
			ids = append(ids, id)
		}
	}
	n.ring()
	return ids, nil
}

// slots is how many there are of a template, and how many of them are ready.
func (f *farm) slots(digest string) (all, ready int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.nodes {
		for _, s := range n.slots {
			if s.Digest == digest && s.For == "" {
				all++
				if s.State == yurt.SlotReady {
					ready++
				}
			}
		}
	}
	return all, ready
}

func pooled(name string, least, most int) yurt.Template {
	t := nodetest.Templates()[0]
	t.Name, t.WarmPool = name, yurt.WarmPool{Min: least, Max: most, IdleTimeout: yurt.Duration(time.Minute)}
	return t
}

func sessionOf(t yurt.Template) yurt.SandboxSpec {
	return yurt.SandboxSpec{
		ID: yurt.NewSandboxID(), Template: t, Resources: yurt.DefaultResources(),
		Labels: map[string]string{yurt.SessionLabel: yurt.NewSessionID()},
	}
}

// run lets the pools of some controllers run until the function that it returns is called.
func run(t *testing.T, templates []yurt.Template, leader *atomic.Int32, placers ...*cluster.Placer) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for i, p := range placers {
		running.Go(func() {
			p.RunPools(ctx, func(context.Context) ([]yurt.Template, error) { return templates, nil }, func() bool { return leader.Load() == int32(i) })
		})
	}
	return func() { cancel(); running.Wait() }
}

// TestWarmSlots follows the warm slots of a cluster: opened, claimed by a burst, opened
// again, taken over by another leader in the middle of that, and closed when idle.
func TestWarmSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, one := newFarm(100, "n1", "n2", "n3"), pooled("one", 4, 50)
		placers := []*cluster.Placer{f.controller(t), f.controller(t)}
		var leader atomic.Int32
		stop := run(t, []yurt.Template{one}, &leader, placers...)
		defer stop()
		want := func(when string, wantAll, wantReady int) {
			t.Helper()
			if all, ready := f.slots(one.Digest()); all != wantAll || ready != wantReady {
				t.Errorf("%s there are %d slots, %d of them ready; want %d and %d", when, all, ready, wantAll, wantReady)
			}
		}
		time.Sleep(3 * time.Second)
		want("at first", 4, 4)
		var burst sync.WaitGroup
		var mu sync.Mutex
		kinds := map[yurt.PlacementKind]int{}
		var held []yurt.Sandbox
		for i := range 24 {
			burst.Go(func() {
				sandbox, placement, err := placers[i%2].Place(t.Context(), sessionOf(one), contract.Hints{})
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				kinds[placement.Kind]++
				if placement.Kind == yurt.PlacementWarm {
					held = append(held, sandbox)
				}
			})
		}
		burst.Wait()
		if kinds[yurt.PlacementWarm] != 4 || kinds[yurt.PlacementCold] != 20 {
			t.Errorf("the burst got %v", kinds)
		}
		time.Sleep(160 * time.Millisecond) // in the middle of opening the missing slots
		leader.Store(1)
		time.Sleep(10 * time.Second)
		want("after a burst", 24, 20)
		pools, err := placers[0].Pools(t.Context(), []yurt.Template{one})
		if err != nil || pools[0].Hits != 4 || pools[0].Misses != 20 || pools[0].Ready != 20 || pools[0].Claimed != 4 || pools[0].Pending != 0 {
			t.Errorf("it says %+v, %v", pools, err)
		}
		for _, s := range held {
			if err := f.nodes[s.Node].DestroySandbox(t.Context(), s.ID); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Second)
		want("when its sessions have ended", 24, 24)
		time.Sleep(75 * time.Second)
		want("when nobody has come for long", 4, 4)
		f.mu.Lock()
		defer f.mu.Unlock()
		if len(f.orders) != 24 { // 20 of sessions, whose sandboxes were not destroyed
			t.Errorf("the engine has %d slots", len(f.orders))
		}
		if f.started > 4+20+20 {
			t.Errorf("%d slots were started", f.started)
		}
	})
}

// TestRetiredUnseen: a slot that is ended as one too many, before the caller that opens it has seen it ready, is neither waited
// for nor counted.
func TestRetiredUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, one := newFarm(100, "n1"), pooled("one", 0, 8)
		f.pause = 3 * time.Second
		p := f.controller(t)
		var least atomic.Int32
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			p.RunPools(ctx, func(context.Context) ([]yurt.Template, error) {
				sized := one
				sized.WarmPool.Min, sized.WarmPool.Max = int(least.Load()), int(least.Load())
				return []yurt.Template{sized}, nil
			}, func() bool { return true })
		})
		defer running.Wait()
		defer stop()
		for _, step := range []struct {
			least int32
			after time.Duration
		}{
			{4, 2 * time.Second}, // they are ready, and their opener has not seen it
			{1, 2 * time.Second},
			{6, 12 * time.Second},
		} {
			least.Store(step.least)
			time.Sleep(step.after)
			if all, ready := f.slots(one.Digest()); all != int(step.least) || ready != all {
				t.Errorf("there are %d slots, %d of them ready; want %d", all, ready, step.least)
			}
		}
		if pools, err := p.Pools(t.Context(), []yurt.Template{one}); err != nil || pools[0].Failure != "" || pools[0].Pending != 0 {
			t.Errorf("it says %+v, %v", pools, err)
		}
	})
}

// TestClaimsWaitForSlotsThatAreRefilled: while the slots of a template make their next sandbox, a session gets that one, and the
// engine gets no order.
func TestClaimsWaitForSlotsThatAreRefilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, one := newFarm(100, "n1"), pooled("one", 2, 2)
		p := f.controller(t)
		var leader atomic.Int32
		stop := run(t, []yurt.Template{one}, &leader, p)
		time.Sleep(3 * time.Second)
		stop() // so that slots open for sessions alone
		place := func(want yurt.PlacementKind) yurt.Sandbox {
			t.Helper()
			sandbox, placement, err := p.Place(t.Context(), sessionOf(one), contract.Hints{})
			if err != nil || placement.Kind != want {
				t.Fatalf("it is placed %+v, %v; want it %s", placement, err, want)
			}
			return sandbox
		}
		first, second := place(yurt.PlacementWarm), place(yurt.PlacementWarm)
		place(yurt.PlacementCold) // both are claimed, and no slot makes another
		for _, s := range []yurt.Sandbox{first, second} {
			if err := f.nodes["n1"].DestroySandbox(t.Context(), s.ID); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(60 * time.Millisecond) // the view shows it, and they are made for 10 ms more
		place(yurt.PlacementWarm)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.started != 3 {
			t.Errorf("%d slots were started", f.started)
		}
	})
}

// TestIdleSlotsGiveWay to a session that finds no room.
func TestIdleSlotsGiveWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, idle, other := newFarm(4, "n1", "n2"), pooled("idle", 8, 8), pooled("other", 0, 0)
		other.WarmPool = yurt.WarmPool{}
		other.Env = map[string]string{"OTHER": "yes"}
		p := f.controller(t)
		var leader atomic.Int32
		stop := run(t, []yurt.Template{idle, other}, &leader, p)
		defer stop()
		time.Sleep(3 * time.Second)
		if all, ready := f.slots(idle.Digest()); all != 8 || ready != 8 {
			t.Fatalf("there are %d slots, %d ready", all, ready)
		}
		for i := range 3 {
			_, placement, err := p.Place(t.Context(), sessionOf(other), contract.Hints{})
			if err != nil || placement.Kind != yurt.PlacementCold {
				t.Fatalf("session %d of another template got %+v, %v", i, placement, err)
			}
		}
		time.Sleep(2 * time.Second)
		if all, _ := f.slots(idle.Digest()); all != 5 {
			t.Errorf("there are %d slots, want those that did not have to go", all)
		}
		for range 5 {
			if _, _, err := p.Place(t.Context(), sessionOf(idle), contract.Hints{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := p.Place(t.Context(), sessionOf(other), contract.Hints{}); yurt.CodeOf(err) != yurt.CodeOverloaded {
			t.Errorf("what is claimed gave way too: %v", err)
		}
		time.Sleep(200 * time.Millisecond)
		pools, err := p.Pools(t.Context(), []yurt.Template{idle})
		if err != nil || pools[0].Claimed != 5 || pools[0].Failure == "" {
			t.Errorf("it says %+v, %v", pools, err)
		}
	})
}

// TestNodesThatCome, go or start again are no claims.
func TestNodesThatComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, one := newFarm(10, "n1", "n2"), pooled("one", 0, 50)
		set := func(name string, claims, cold int64) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.nodes[name].count[one.Digest()] = yurt.TemplateCapacity{Claims: claims, Cold: cold}
			f.publish()
		}
		set("n1", 1000, 500)
		set("n2", 1000, 500)
		p := f.controller(t)
		hits := func(when string, want int64) {
			t.Helper()
			pools, err := p.Pools(t.Context(), []yurt.Template{one})
			if err != nil || pools[0].Hits != want || pools[0].Misses != want || pools[0].Target > int(want) {
				t.Errorf("%s it says %+v, %v", when, pools, err)
			}
		}
		hits("of what was before", 0)
		set("n1", 1001, 501)
		hits("after a claim", 1)
		n2 := f.nodes["n2"]
		f.mu.Lock()
		delete(f.nodes, "n2")
		f.publish()
		f.mu.Unlock()
		hits("when a node is gone", 1)
		f.mu.Lock()
		f.nodes["n2"] = n2
		f.publish()
		f.mu.Unlock()
		hits("when it is back", 1)
		f.mu.Lock()
		f.began = f.began.Add(time.Minute)
		for _, n := range f.nodes {
			n.count = map[string]yurt.TemplateCapacity{}
		}
		f.publish()
		f.mu.Unlock()
		hits("when nodes were started again", 1)
		set("n1", 1, 1)
		hits("after a claim there", 2)
	})
}
