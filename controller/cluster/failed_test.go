package cluster_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

// Where implements cluster.Teller.
func (w *world) Where(_ context.Context, slotID string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.moved[slotID], w.failed[w.slots[slotID].SlotID]
}

// TestSlotIsMoved: a session gets its sandbox at the node to which the engine moved the slot,
// because it lost the first node before the slot had begun there.
func TestSlotIsMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "bb")
		w.nodes["a"].set(func(n *node) { n.broken = yurt.Errorf(yurt.CodeUnavailable, "it knows no such slot") })
		asked := spec()
		slot := asked.Labels[yurt.SessionLabel]
		begun := time.Now()
		time.AfterFunc(20*time.Second, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.moved = map[string]string{slot: "bb"}
		})
		sandbox, placement, err := w.placer.Place(t.Context(), asked, contract.Hints{})
		if err != nil || sandbox.Node != "bb" || placement.Node != "bb" {
			t.Errorf("it is on %q and %+v, %v", sandbox.Node, placement, err)
		}
		if took := time.Since(begun); took > 25*time.Second {
			t.Errorf("it took %s", took)
		}
		if w.open() != 1 {
			t.Errorf("%d slots are open, want that of the session", w.open())
		}
	})
}

// TestSlotFails: a caller that waits for a slot of which its node never hears is told when the engine says that the slot has
// failed, and not at its deadline.
func TestSlotFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a")
		w.nodes["a"].set(func(n *node) { n.broken = yurt.Errorf(yurt.CodeUnavailable, "it knows no such slot") })
		asked := spec()
		slot := asked.Labels[yurt.SessionLabel]
		begun := time.Now()
		time.AfterFunc(5*time.Second, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.failed = map[string]error{slot: yurt.Errorf(yurt.CodeSandboxFailed, "the driver refused it")}
		})
		_, _, err := w.placer.Place(t.Context(), asked, contract.Hints{})
		if yurt.CodeOf(err) != yurt.CodeSandboxFailed || !strings.Contains(err.Error(), "the driver refused it") {
			t.Errorf("error %v", err)
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("it was told after %s", took)
		}
		synctest.Wait()
		if w.open() != 0 {
			t.Errorf("%d slots are left", w.open())
		}
	})
}

// TestNodeBeginsToDrain: a session whose slot was placed on a node of which is heard only
// then that it drains is started on another.
func TestNodeBeginsToDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "bb")
		w.nodes["a"].set(func(n *node) { n.broken = yurt.Errorf(yurt.CodeUnavailable, "this node is being drained") })
		time.AfterFunc(150*time.Millisecond, func() { w.drain("a") })
		begun := time.Now()
		if _, p := w.place(); p.Kind != yurt.PlacementCold || p.Node != "bb" {
			t.Errorf("it is %+v", p)
		}
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("it took %s", took)
		}
		if w.open() != 1 {
			t.Errorf("there are %d slots", w.open())
		}
		// With all of them drained, the error says so, and no slot is left.
		w.nodes["bb"].set(func(n *node) { n.broken = yurt.Errorf(yurt.CodeUnavailable, "this node is being drained") })
		w.drain("bb")
		if _, _, err := w.placer.Place(t.Context(), spec(), contract.Hints{}); yurt.CodeOf(err) != yurt.CodeUnavailable {
			t.Errorf("error %v", err)
		}
		synctest.Wait()
		if w.open() != 1 {
			t.Errorf("%d slots are left", w.open())
		}
	})
}

// drain has the view say that a node drains.
func (w *world) drain(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	view := slices.Clone(w.view)
	for i := range view {
		view[i].Draining = view[i].Draining || view[i].Name == name
	}
	w.view = view
	close(w.changed)
	w.changed = make(chan struct{})
}
