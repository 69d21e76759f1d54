package controller_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/fleet"
	"github.com/yurtrun/yurt/controller/internal/nodetest"
	"github.com/yurtrun/yurt/controller/sqlite"
)

// sweepTime is when the controller compares store and nodes again.
const sweepTime = 30 * time.Second

// emptied stops the controller and gives the next one an empty store.
func (w *world) emptied(t *testing.T) {
	t.Helper()
	w.stop()
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.store, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "yurt.db")); err != nil {
		t.Fatal(err)
	}
}

// TestStoreThatKnowsNoSandbox: a controller refuses to run with a store that does not know any of the living
// sandboxes, and its error names ways to go on, which work.
func TestStoreThatKnowsNoSandbox(t *testing.T) {
	w := testWorld(t)
	lost := w.create(yurt.ModePersistent)
	w.emptied(t)
	refusing, err := controller.New(controller.Config{Store: w.store, Placer: w.node.Placer(), Templates: nodetest.Templates(), Clock: w.clock})
	if err != nil {
		t.Fatal(err)
	}
	err = refusing.Run(t.Context())
	wantCode(t, err, yurt.CodeUnavailable)
	for _, part := range []string{lost.SandboxID, "none of the sandboxes that run for sessions (1: ", "--adopt-orphans keep", "--adopt-orphans destroy"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
	if err := refusing.Close(); err != nil {
		t.Error(err)
	}
	if w.node.Count() != 1 {
		t.Fatalf("there are %d sandboxes, want the 1 that nothing may touch", w.node.Count())
	}

	policy := fleet.OrphansKeep
	w.changes = append(w.changes, func(c *controller.Config) { c.Orphans = policy })
	w.start()
	own := w.create(yurt.ModePersistent) // its sandbox says no more about the others
	w.clock.advance(sweepTime)
	w.wait(w.execute(own.ID, "echo works"))
	w.restart(func() {})
	if w.node.Count() != 2 {
		t.Fatalf("there are %d sandboxes, want the one that is kept and a new one", w.node.Count())
	}
	if warnings := w.Warnings(); len(warnings) != 1 || !strings.Contains(warnings[0], "know: 1;") {
		t.Errorf("warnings %q, want one about the sandbox", warnings)
	}
	w.restart(func() { policy = fleet.OrphansDestroy })
	w.eventually("the sandbox without a session is gone", func() bool { return w.node.Count() == 1 })
	w.wait(w.execute(own.ID, "echo works"))
}

// TestUnknownSandboxesThatComeLater: a controller that began without nodes does not destroy a node's sandboxes that
// the store does not know.
func TestUnknownSandboxesThatComeLater(t *testing.T) {
	w := testWorld(t)
	w.create(yurt.ModePersistent)
	w.emptied(t)
	w.node.Fail("Sandboxes", yurt.Errorf(yurt.CodeUnavailable, "no route"))
	w.start()
	own := w.create(yurt.ModePersistent)
	w.clock.advance(sweepTime)
	w.eventually("the sandbox is held", func() bool { return len(w.Warnings()) == 1 })
	if w.node.Count() != 2 {
		t.Errorf("there are %d sandboxes, want 2", w.node.Count())
	}
	w.wait(w.execute(own.ID, "echo works"))
}
