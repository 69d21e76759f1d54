package controller_test

import (
	"context"
	"slices"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
)

// holder is a placer that holds slots for each session of a list.
type holder struct {
	hinted
	kept []string
}

func (k *holder) HeldSlots(context.Context) ([]string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(k.kept), func(id string) bool { return slices.Contains(k.released, id) }), nil
}

// TestLeakedSlotsAreReleased: a controller that dies while it places a session, or cannot release the slot of one that
// ended, leaves a slot, which the next life releases.
func TestLeakedSlotsAreReleased(t *testing.T) {
	placer := &holder{}
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
		placer.kept = []string{lives.ID, ended.ID, unknown}
	})
	w.wantReleased(placer, ended.ID)
	w.wantReleased(placer, unknown)
	placer.mu.Lock()
	defer placer.mu.Unlock()
	if slices.Contains(placer.released, lives.ID) {
		t.Error("what is kept for a session that lives was released")
	}
}

func (w *world) wantReleased(placer *holder, id string) {
	w.t.Helper()
	w.eventually("what is kept for "+id+" is released", func() bool {
		placer.mu.Lock()
		defer placer.mu.Unlock()
		return slices.Contains(placer.released, id)
	})
}
