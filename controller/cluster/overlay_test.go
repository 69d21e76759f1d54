package cluster_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/cluster"
	"github.com/yurtrun/yurt/controller/contract"
)

// NodesNotReady implements cluster.NodeTeller.
func (w *world) NodesNotReady(context.Context) (map[string]cluster.EngineNode, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.engine, nil
}

// runPools has the placer follow the engine, with no template to keep warm, until the returned
// function is called.
func (w *world) runPools(t *testing.T) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		w.placer.RunPools(ctx, func(context.Context) ([]yurt.Template, error) { return nil, nil }, func() bool { return false })
	})
	synctest.Wait()
	return func() { cancel(); running.Wait() }
}

// TestEngineDrainsANode: no new session comes to the node, although it has warm sandboxes, and its entry says when its sessions
// end.
func TestEngineDrainsANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "bb")
		w.warm("a", 2)
		by := time.Now().Add(time.Hour)
		w.engine = map[string]cluster.EngineNode{"a": {Drains: true, EndsBy: by}}
		defer w.runPools(t)()
		list, err := w.placer.NodeList(t.Context())
		if err != nil || !list[0].Draining || list[0].EndsBy == nil || !list[0].EndsBy.Before(by) || list[1].Draining {
			t.Errorf("the nodes are %+v, %v", list, err)
		}
		if _, p := w.place("bb"); p.Kind != yurt.PlacementCold || p.Node != "bb" {
			t.Errorf("it is %+v", p)
		}
		w.mu.Lock()
		w.engine = nil
		w.mu.Unlock()
		time.Sleep(10 * time.Second)
		if _, p := w.place("bb"); p.Kind != yurt.PlacementWarm || p.Node != "a" {
			t.Errorf("it is %+v", p)
		}
	})
}

// TestEngineDoesNotReachANode: the node's entry says so, its warm sandboxes are claimed all the same, and a slot that has to be
// started prefers the other node.
func TestEngineDoesNotReachANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "bb")
		w.warm("a", 1)
		for i := range w.view {
			w.view[i].Templates = []string{template().Digest()}
		}
		w.engine = map[string]cluster.EngineNode{"a": {Status: "disconnected"}}
		defer w.runPools(t)()
		list, err := w.placer.NodeList(t.Context())
		if err != nil || !list[0].Healthy || list[0].NomadStatus != "disconnected" || list[1].NomadStatus != "" {
			t.Errorf("the nodes are %+v, %v", list, err)
		}
		if _, p := w.place(); p.Kind != yurt.PlacementWarm || p.Node != "a" {
			t.Errorf("the first is %+v, want the warm one of a", p)
		}
		if _, p := w.place(); p.Kind != yurt.PlacementCold || p.Node != "bb" {
			t.Errorf("the second is %+v, want a cold start on bb", p)
		}
	})
}

// TestSlotsOfALostNode: slots on a node that the engine does not reach, and that no longer announces itself, are ended and no
// longer count. While the engine reaches the node its slots are left alone: the executor may be about to start.
func TestSlotsOfALostNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, one := newFarm(10, "n1", "n2"), pooled("one", 4, 4)
		p := f.controller(t)
		var leader atomic.Int32
		stop := run(t, []yurt.Template{one}, &leader, p)
		defer stop()
		time.Sleep(15 * time.Second)
		f.mu.Lock()
		lost := f.nodes["n1"] // which is preferred while all are empty
		if len(lost.slots) != 4 {
			t.Errorf("the first node has %d slots, want all 4", len(lost.slots))
		}
		delete(f.nodes, "n1")
		f.publish()
		f.mu.Unlock()
		want := func(when string, ready, pending, orders int) {
			t.Helper()
			pools, err := p.Pools(t.Context(), []yurt.Template{one})
			f.mu.Lock()
			defer f.mu.Unlock()
			if err != nil || pools[0].Ready != ready || pools[0].Pending != pending || len(f.orders) != orders {
				t.Errorf("%s the engine has %d slots, want %d; the pool is %+v, %v", when, len(f.orders), orders, pools, err)
			}
		}
		time.Sleep(30 * time.Second)
		want("while the engine reaches the node", 4, 4, 8)
		f.mu.Lock()
		f.away = map[string]bool{"n1": true}
		f.mu.Unlock()
		time.Sleep(30 * time.Second)
		want("when the node is lost", 4, 0, 4)
	})
}

// TestNoRoomIsMadeInVain: on a node on which the engine places no slots, no idle slot gives way.
func TestNoRoomIsMadeInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, idle, other := newFarm(4, "n1"), pooled("idle", 4, 4), pooled("other", 0, 0)
		other.WarmPool = yurt.WarmPool{}
		other.Env = map[string]string{"OTHER": "yes"}
		f.engine = map[string]cluster.EngineNode{"n1": {Status: "down"}}
		p := f.controller(t)
		var leader atomic.Int32
		stop := run(t, []yurt.Template{idle, other}, &leader, p)
		defer stop()
		time.Sleep(3 * time.Second)
		if _, _, err := p.Place(t.Context(), sessionOf(other), contract.Hints{}); yurt.CodeOf(err) != yurt.CodeOverloaded {
			t.Errorf("a session without room got %v", err)
		}
		if all, ready := f.slots(idle.Digest()); all != 4 || ready != 4 {
			t.Errorf("there are %d slots, %d ready, want 4 of each", all, ready)
		}
	})
}

// NodesNotReady implements cluster.NodeTeller.
func (f *farm) NodesNotReady(context.Context) (map[string]cluster.EngineNode, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.engine, nil
}
