package controller_test

import (
	"context"
	"slices"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
)

// leaky is a placer with a slot for each session of a list.
type leaky struct {
	hinted
	slots []string
}

func (k *leaky) HeldSlots(context.Context) ([]string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(k.slots), func(id string) bool { return slices.Contains(k.released, id) }), nil
}

// TestLeakedSlotsAreReleased by the next life of a controller that died while it placed a session, or could not release the
// slot when the session ended.
func TestLeakedSlotsAreReleased(t *testing.T) {
	placer := &leaky{}
	w := testWorld(t, func(c *controller.Config) {
		placer.Placer = c.Placer
		c.Placer = placer
	})
	lives, ended := w.create(yurt.ModePersistent), w.create(yurt.ModePersistent)
	if _, err := w.EndSession(t.Context(), ended.ID); err != nil {
		t.Fatal(err)
	}
	w.wantReleased(placer, ended.ID)
	unknown := yurt.NewSessionID()
	w.restart(func() {
		placer.mu.Lock()
		defer placer.mu.Unlock()
		placer.released = nil
		placer.slots = []string{lives.ID, ended.ID, unknown}
	})
	w.wantReleased(placer, ended.ID)
	w.wantReleased(placer, unknown)
	placer.mu.Lock()
	defer placer.mu.Unlock()
	if slices.Contains(placer.released, lives.ID) {
		t.Error("the slot of a session that lives was released")
	}
}

func (w *world) wantReleased(placer *leaky, id string) {
	w.t.Helper()
	w.eventually("the slot of session "+id+" is released", func() bool {
		placer.mu.Lock()
		defer placer.mu.Unlock()
		return slices.Contains(placer.released, id)
	})
}
