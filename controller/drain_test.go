package controller_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/execution"
	"github.com/yurtrun/yurt/controller/fleet"
	"github.com/yurtrun/yurt/controller/internal/nodetest"
)

// cluster is a placer over nodes that can be lost and drained.
type cluster struct {
	contract.Placer // for all but the nodes

	mu    sync.Mutex
	nodes map[string]*nodetest.Node
	lost  map[string]bool
	drain map[string]bool
	at    string // where sessions are placed

	endsBy *time.Time // when those on a node that drains end
}

// useCluster gives a world nodes of the names a and b, and places at a.
func useCluster() (*cluster, func(*controller.Config)) {
	c := &cluster{Placer: nodetest.New().Placer(), nodes: map[string]*nodetest.Node{"a": nodetest.New(), "b": nodetest.New()}, lost: map[string]bool{}, drain: map[string]bool{}, at: "a"}
	return c, func(config *controller.Config) { config.Placer = c }
}

func (c *cluster) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

func (c *cluster) Place(ctx context.Context, spec yurt.SandboxSpec, _ contract.Hints) (yurt.Sandbox, yurt.Placement, error) {
	c.mu.Lock()
	at := c.at
	c.mu.Unlock()
	sandbox, err := c.nodes[at].CreateSandbox(ctx, spec)
	sandbox.Node = at
	return sandbox, yurt.Placement{Kind: yurt.PlacementCold, Node: at}, err
}

func (c *cluster) Node(_ context.Context, name string) (contract.Node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	node, ok := c.nodes[name]
	if !ok || c.lost[name] {
		return nil, yurt.Errorf(yurt.CodeNotFound, "node %s is lost", name)
	}
	return node, nil
}

func (c *cluster) Nodes(context.Context) (map[string]contract.Node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	nodes := map[string]contract.Node{}
	for name, node := range c.nodes {
		if !c.lost[name] {
			nodes[name] = node
		}
	}
	return nodes, nil
}

func (c *cluster) NodeList(context.Context) ([]yurt.NodeInfo, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []yurt.NodeInfo
	for name := range c.nodes {
		list = append(list, yurt.NodeInfo{Name: name, Healthy: !c.lost[name], Draining: c.drain[name], EndsBy: c.endsBy})
	}
	return list, nil
}

func (w *world) wantRemark(id, part string) {
	w.t.Helper()
	w.eventually("its story says "+part, func() bool {
		story, err := w.Transitions(context.Background(), id)
		return err == nil && strings.Contains(story[len(story)-1].Reason, part)
	})
}

func TestDrain(t *testing.T) {
	nodes, use := useCluster()
	w := testWorld(t, use)
	idle, busy := w.create(yurt.ModePersistent), w.create(yurt.ModePersistent)
	e := w.execute(busy.ID, "echo a block")
	defer nodes.nodes["a"].Release()
	grace := yurt.Duration(time.Minute)
	drain, err := w.DrainNode(t.Context(), "a", &grace)
	if err != nil || drain.Sessions != 2 || !drain.Draining || !nodes.nodes["a"].Draining() {
		t.Fatalf("%+v, error %v", drain, err)
	}
	nodes.set(func() { nodes.drain["a"], nodes.at = true, "b" })
	elsewhere := w.create(yurt.ModePersistent)
	for _, id := range []string{idle.ID, busy.ID} {
		w.wantRemark(id, "its node a is drained: the session ends by")
		if s := w.session(id); s.EndsBy == nil || !s.EndsBy.Equal(*drain.EndsBy) || s.State.Ended() {
			t.Errorf("%+v", s)
		}
	}
	w.clock.advance(time.Minute - 1)
	if s := w.session(busy.ID); s.State != yurt.SessionRunning {
		t.Errorf("the session is %s: %s", s.State, s.Reason)
	}
	w.clock.advance(1)
	for _, id := range []string{idle.ID, busy.ID} {
		w.wantState(id, yurt.SessionTerminated, "its node a is drained")
	}
	if got := w.wait(e); got.Result.Stdout != "a\n" || got.Result.Error == nil || got.Result.Error.Type != yurt.ErrorTypeSessionEnded {
		t.Errorf("result %+v", got.Result)
	}
	if s := w.session(elsewhere.ID); s.State != yurt.SessionReady || s.EndsBy != nil {
		t.Errorf("%+v", s)
	}
}

func TestDrainIsUndone(t *testing.T) {
	nodes, use := useCluster()
	w := testWorld(t, use)
	s := w.create(yurt.ModePersistent)
	for _, grace := range []time.Duration{time.Minute, time.Hour} { // the shorter one counts
		if _, err := w.DrainNode(t.Context(), "a", (*yurt.Duration)(&grace)); err != nil {
			t.Fatal(err)
		}
	}
	if at := w.session(s.ID).EndsBy; at == nil || !at.Equal(w.clock.Now().Add(time.Minute)) {
		t.Errorf("it ends by %v", at)
	}
	drain, err := w.UndrainNode(t.Context(), "a")
	if err != nil || drain.Sessions != 1 || drain.Draining || nodes.nodes["a"].Draining() {
		t.Fatalf("%+v, error %v", drain, err)
	}
	w.wantRemark(s.ID, "not drained any more")
	w.clock.advance(2 * time.Minute)
	if got := w.session(s.ID); got.State != yurt.SessionReady || got.EndsBy != nil {
		t.Errorf("%+v", got)
	}
	tooLong := yurt.Duration(48 * time.Hour)
	_, err = w.DrainNode(t.Context(), "a", &tooLong)
	wantCode(t, err, yurt.CodeLimitOutOfRange)
	_, err = w.DrainNode(t.Context(), "none", nil)
	wantCode(t, err, yurt.CodeNodeNotFound)
}

// TestNodeDrainedBySomebodyElse: the sessions get the usual grace.
func TestNodeDrainedBySomebodyElse(t *testing.T) {
	nodes, use := useCluster()
	w := testWorld(t, use)
	s := w.create(yurt.ModePersistent)
	w.eventually("the controller has looked at its nodes, and waits", w.clock.waitedFor)
	nodes.set(func() { nodes.drain["a"] = true })
	w.clock.advance(10 * time.Second)
	w.wantRemark(s.ID, "its node a is drained")
	w.clock.advance(fleet.DefaultDrainGrace)
	w.wantState(s.ID, yurt.SessionTerminated, "its node a is drained")
}

// wantAway calls the session in all ways that need its node: until the session is failed, each call says to ask again,
// and no call says that the session is unknown.
func (w *world) wantAway(id string) {
	w.t.Helper()
	ctx := context.Background()
	for what, ask := range map[string]func() error{
		"execute": func() error {
			_, err := w.Execute(ctx, id, execution.Request{Command: execution.ShellCommand("true")})
			return err
		},
		"a file":    func() error { _, err := w.StatFile(ctx, id, "file"); return err },
		"contexts":  func() error { _, err := w.Contexts(ctx, id); return err },
		"processes": func() error { _, err := w.Processes(ctx, id); return err },
		"stats":     func() error { _, err := w.SessionStats(ctx, id); return err },
		"pause":     func() error { _, err := w.PauseSession(ctx, id); return err },
	} {
		var coded *yurt.Error
		if err := ask(); !errors.As(err, &coded) || coded.Code != yurt.CodeUnavailable || coded.RetryAfter == 0 {
			w.t.Errorf("%s: error %v, want one that says when to ask again", what, err)
		}
	}
}

func TestNodeIsLost(t *testing.T) {
	nodes, use := useCluster()
	w := testWorld(t, use)
	s := w.create(yurt.ModePersistent)
	nodes.set(func() { nodes.at = "b" })
	other := w.create(yurt.ModePersistent)
	w.eventually("the controller has looked at its nodes, and waits", w.clock.waitedFor)
	nodes.set(func() { nodes.lost["a"] = true })
	w.wantAway(s.ID)
	w.clock.advance(3 * time.Second)
	w.wantState(s.ID, yurt.SessionFailed, "its node a is lost")
	_, err := w.Execute(t.Context(), s.ID, execution.Request{Command: execution.ShellCommand("true")})
	wantCode(t, err, yurt.CodeSessionEnded)
	if got := w.session(other.ID); got.State != yurt.SessionReady {
		t.Errorf("the session is %s: %s", got.State, got.Reason)
	}
	w.eventually("the controller waits", w.clock.waitedFor)
	nodes.set(func() { nodes.lost["a"] = false }) // it was only cut off
	w.clock.advance(3 * time.Second)              // long before the next sweep
	w.eventually("what was on it is destroyed", func() bool { return nodes.nodes["a"].Count() == 0 })
}

// TestNodeIsLostBeforeAStart: an execution that the node never acknowledged is started
// on another one.
func TestNodeIsLostBeforeAStart(t *testing.T) {
	nodes, use := useCluster()
	w := testWorld(t, use)
	s := w.create(yurt.ModeEphemeral)
	nodes.nodes["a"].Fail("RunExecution", yurt.Errorf(yurt.CodeUnavailable, "no route"))
	started := make(chan yurt.Execution)
	go func() {
		defer close(started)
		e, err := w.Execute(context.Background(), s.ID, execution.Request{Command: execution.ShellCommand("echo moved")})
		if err != nil {
			t.Error(err)
		}
		started <- e
	}()
	w.eventually("it is about to start", func() bool { return w.session(s.ID).State == yurt.SessionRunning })
	nodes.set(func() { nodes.lost["a"], nodes.at = true, "b" })
	e := <-started
	if got := w.wait(e); got.Result.Stdout != "moved\n" || got.Result.Error != nil {
		t.Errorf("result %+v", got.Result)
	}
	if got := w.session(s.ID); got.Placement.Node != "b" {
		t.Errorf("the session is at %s", got.Placement.Node)
	}
}

// TestEngineDrains: a node that the cluster's own means drain has its sessions end before those
// end them, and has them go on when that is called off.
func TestEngineDrains(t *testing.T) {
	nodes, use := useCluster()
	w := testWorld(t, use)
	s := w.create(yurt.ModePersistent)
	by := w.clock.Now().Add(time.Hour)
	w.eventually("the controller has looked at its nodes, and waits", w.clock.waitedFor)
	nodes.set(func() { nodes.drain["a"], nodes.endsBy = true, &by })
	w.clock.advance(3 * time.Second)
	w.wantRemark(s.ID, "its node a is drained")
	if got := w.session(s.ID).EndsBy; got == nil || !got.Equal(by) {
		t.Errorf("it ends by %v, want %v", got, by)
	}
	nodes.set(func() { nodes.drain["a"], nodes.endsBy = false, nil })
	w.eventually("it is told of that", func() bool {
		w.clock.advance(3 * time.Second)
		return w.session(s.ID).EndsBy == nil
	})
	w.wantRemark(s.ID, "not drained any more")
}

// TestDrainIsCalledOffUnseen: when a drain ends while no controller leads, the next leader takes it back; a drain that
// goes on stays.
func TestDrainIsCalledOffUnseen(t *testing.T) {
	nodes, use := useCluster()
	w := testWorld(t, use)
	let := w.create(yurt.ModePersistent)
	nodes.set(func() { nodes.at = "b" })
	kept := w.create(yurt.ModePersistent)
	by := w.clock.Now().Add(time.Hour)
	w.eventually("the controller has looked at its nodes, and waits", w.clock.waitedFor)
	nodes.set(func() { nodes.drain["a"], nodes.drain["b"], nodes.endsBy = true, true, &by })
	w.clock.advance(3 * time.Second)
	w.wantRemark(let.ID, "its node a is drained")
	w.wantRemark(kept.ID, "its node b is drained")
	w.restart(func() { nodes.set(func() { nodes.drain["a"] = false }) })
	w.eventually("the session is told", func() bool {
		w.clock.advance(time.Second)
		return w.session(let.ID).EndsBy == nil
	})
	w.wantRemark(let.ID, "not drained any more")
	if got := w.session(kept.ID).EndsBy; got == nil || !got.Equal(by) {
		t.Errorf("the session whose node is still drained ends by %v, want %v", got, by)
	}
}

// TestNoticeSeenByASlowSweep: a sweep's finding is old enough at the next sweep, however long the first one took.
func TestNoticeSeenByASlowSweep(t *testing.T) {
	nodes, use := useCluster()
	store := &sweptStore{swept: make(chan struct{}, 100)}
	w := testWorld(t, use, func(config *controller.Config) {
		store.Store = config.Store
		config.Store = store
	})
	<-store.swept // as nodes are there that were not
	s := w.create(yurt.ModePersistent)
	grace := yurt.Duration(time.Hour)
	if _, err := w.DrainNode(t.Context(), "a", &grace); err != nil {
		t.Fatal(err)
	}
	nodes.set(func() { nodes.drain["a"] = false })
	w.eventually("the controller waits", w.clock.waitedFor)
	slow := func() { w.clock.advance(time.Second) }
	store.slow.Store(&slow)
	w.clock.advance(30 * time.Second)
	<-store.swept
	for range 13 {
		w.eventually("the controller waits", w.clock.waitedFor)
		w.clock.advance(time.Second)
	}
	w.eventually("the notice is taken back", func() bool { return w.session(s.ID).EndsBy == nil })
}

// TestNoticeBeforeTheNode: sessions that were told of a drain a moment before their node shows
// that it drains are not told otherwise.
func TestNoticeBeforeTheNode(t *testing.T) {
	nodes, use := useCluster()
	w := testWorld(t, use)
	s := w.create(yurt.ModePersistent)
	grace := yurt.Duration(time.Hour)
	if _, err := w.DrainNode(t.Context(), "a", &grace); err != nil {
		t.Fatal(err)
	}
	for range 9 { // seconds, in which each look finds a node again that was away
		nodes.set(func() { nodes.lost["b"] = !nodes.lost["b"] })
		w.eventually("the controller waits", w.clock.waitedFor)
		w.clock.advance(time.Second)
	}
	w.eventually("the controller waits", w.clock.waitedFor)
	if w.session(s.ID).EndsBy == nil {
		t.Fatal("the notice was taken back")
	}
	nodes.set(func() { nodes.drain["a"] = true })
	w.clock.advance(time.Minute)
	w.eventually("the controller waits", w.clock.waitedFor)
	w.clock.advance(time.Minute)
	w.eventually("the controller waits", w.clock.waitedFor)
	if w.session(s.ID).EndsBy == nil {
		t.Error("the notice was taken back, though the node drains")
	}
}
