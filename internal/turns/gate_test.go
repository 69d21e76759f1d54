package turns

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestThoseInAHurryGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1)
		leave, err := g.Enter(t.Context(), "", false)
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		var wg sync.WaitGroup
		come := func(name string, hurry bool) {
			wg.Go(func() {
				leave, err := g.Enter(t.Context(), "", hurry)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, name) // one at a time is let in
				leave()
			})
			synctest.Wait()
		}
		come("warm 1", false)
		come("warm 2", false)
		come("cold 1", true)
		come("cold 2", true)
		leave()
		wg.Wait()
		want := [4]string{"cold 1", "cold 2", "warm 1", "warm 2"}
		if [4]string(order) != want {
			t.Errorf("let in were %q; want %q", order, want)
		}
	})
}

// A caller that leaves the queue, at any moment, takes no place along.
func TestAGateLosesNoPlace(t *testing.T) {
	const places = 3
	g := NewGate(places)
	var inside, most atomic.Int32
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			if i%3 == 0 {
				go cancel()
			}
			defer cancel()
			leave, err := g.Enter(ctx, "", i%2 == 0)
			if err != nil {
				return
			}
			if n := inside.Add(1); n > most.Load() {
				most.Store(n)
			}
			inside.Add(-1)
			leave()
		})
	}
	wg.Wait()
	if g.free != places || g.queues[0].Len()+g.queues[1].Len() != 0 {
		t.Errorf("%d of %d places are free, %d wait", g.free, places, g.queues[0].Len()+g.queues[1].Len())
	}
	if most.Load() > places {
		t.Errorf("%d were inside at once", most.Load())
	}
}
