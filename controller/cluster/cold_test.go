package cluster_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

// TestColdStartElsewhere: a node that cannot make a sandbox, as with a full disk, costs the caller no error while there is another
// node; a fault of the request is one everywhere.
func TestColdStartElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "bb", "ccc")
		w.nodes["a"].set(func(n *node) { n.broken = yurt.Errorf(yurt.CodeInternal, "no space left on device") })
		if _, p := w.place(); p.Node != "bb" || p.Kind != yurt.PlacementCold {
			t.Errorf("it is placed %+v", p)
		}
		if w.open() != 1 || len(w.stopped) != 1 {
			t.Errorf("%d slots are open, and %d were stopped; want that of the first node stopped", w.open(), len(w.stopped))
		}
		w.nodes["a"].set(func(n *node) { n.broken = yurt.Errorf(yurt.CodeInvalidArgument, "nowhere") })
		_, _, err := w.placer.Place(t.Context(), spec(), contract.Hints{})
		if yurt.CodeOf(err) != yurt.CodeInvalidArgument {
			t.Errorf("error %v, want that of the first node", err)
		}
		synctest.Wait()
		if w.open() != 1 {
			t.Errorf("%d slots are open, want that of the first session", w.open())
		}
	})
}

// TestFilesThatDoNotFit: a session whose files no workspace of its size has room for costs one
// warm sandbox at most, and no node its good name.
func TestFilesThatDoNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a", "bb")
		w.warm("a", 1)
		w.warm("bb", 1)
		full := yurt.FieldErrorf(yurt.CodeWorkspaceFull, "files", "no space is left")
		w.nodes["a"].set(func(n *node) { n.broken = full })
		asked := spec()
		asked.Files = []yurt.SourceFile{{Path: "a"}}
		_, _, err := w.placer.Place(t.Context(), asked, contract.Hints{Prefer: []string{"a"}})
		if !errors.Is(err, full) || w.open() != 0 || len(w.stopped) != 0 || w.nodes["bb"].claims != 0 {
			t.Errorf("error %v; %d slots open, %d stopped, %d claims at the other node", err, w.open(), len(w.stopped), w.nodes["bb"].claims)
		}
		w.nodes["a"].set(func(n *node) { n.broken = nil })
		time.Sleep(time.Second)
		w.refresh()
		if _, p := w.place("a"); p.Node != "a" || p.Kind != yurt.PlacementWarm {
			t.Errorf("afterwards it is placed %+v", p)
		}
	})
}

// TestOnlyNodeFails: the caller hears the node's own error, not that there is no other node.
func TestOnlyNodeFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a")
		w.nodes["a"].set(func(n *node) { n.broken = yurt.Errorf(yurt.CodeSandboxFailed, "no space left on device") })
		_, _, err := w.placer.Place(t.Context(), spec(), contract.Hints{})
		if yurt.CodeOf(err) != yurt.CodeSandboxFailed || w.open() != 0 {
			t.Errorf("error %v, %d slots are open", err, w.open())
		}
	})
}
