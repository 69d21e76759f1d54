package controller_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/contract"
)

// reuseRequest is a request that an agent repeats.
func reuseRequest() controller.CreateSessionRequest {
	return controller.CreateSessionRequest{TemplateID: "python-basic", AgentID: "a", Reuse: true, Env: map[string]string{"KEY": "1"}}
}

// testReuseAnywhere: many concurrent requests, at any controller, get one session.
func testReuseAnywhere(t *testing.T, url string) {
	f := newFleet(t, url, 2, patientLease)
	all := askAtOnce(t, 50, f.members[0].Controller, f.members[1].Controller)
	oneSession(t, all)
	if live := f.countLive(); live != 1 || f.node.Count() != 1 {
		t.Errorf("%d sessions live, with %d sandboxes", live, f.node.Count())
	}
	// Again, as one that has to be resumed.
	if _, err := f.PauseSession(t.Context(), all[0].ID); err != nil {
		t.Fatal(err)
	}
	again := askAtOnce(t, 50, f.members[0].Controller, f.members[1].Controller)
	for _, s := range again {
		if s.ID != all[0].ID || s.State != yurt.SessionReady || s.Placement.Kind != yurt.PlacementReused {
			t.Errorf("it got %s, %s, %s", s.ID, s.State, s.Placement.Kind)
		}
	}
	f.node.Kill(all[0].SandboxID, "so that there is none")
	f.eventually("its session has failed", func() bool { return f.session(all[0].ID).State == yurt.SessionFailed })
	oneSession(t, askAtOnce(t, 50, f.members[0].Controller, f.members[1].Controller))
}

func askAtOnce(t *testing.T, clients int, controllers ...*controller.Controller) []yurt.Session {
	t.Helper()
	all := make([]yurt.Session, clients)
	var group sync.WaitGroup
	for n := range clients {
		group.Go(func() {
			var err error
			if all[n], err = controllers[n%len(controllers)].CreateSession(t.Context(), reuseRequest()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	return all
}

// oneSession demands that one of them made it, and that the others got the same.
func oneSession(t *testing.T, all []yurt.Session) {
	t.Helper()
	kinds := map[yurt.PlacementKind]int{}
	for _, s := range all {
		kinds[s.Placement.Kind]++
		if s.ID != all[0].ID || s.State != yurt.SessionReady {
			t.Errorf("one got %s, another %s, which is %s", all[0].ID, s.ID, s.State)
		}
	}
	if kinds[yurt.PlacementCold] != 1 || kinds[yurt.PlacementReused] != len(all)-1 {
		t.Errorf("they were placed %v", kinds)
	}
}

// TestReuseWhenItFails: requests that wait for a session which another request makes give up after a few failed ones,
// and do not take a session whose node is away.
func TestReuseWhenItFails(t *testing.T) {
	var away atomic.Bool
	w := testWorld(t, func(c *controller.Config) { c.Placer = &unreachable{Placer: c.Placer, away: &away} })
	away.Store(true)
	const clients = 10
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			if _, err := w.CreateSession(t.Context(), reuseRequest()); yurt.CodeOf(err) != yurt.CodeUnavailable {
				t.Errorf("error %v", err)
			}
		})
	}
	group.Wait()
	if live := w.live(); len(live) != 0 {
		t.Errorf("these live: %v", live)
	}
	away.Store(false)
	first := askAtOnce(t, clients, w.Controller)
	oneSession(t, first)
	away.Store(true)
	if _, err := w.CreateSession(t.Context(), reuseRequest()); yurt.CodeOf(err) != yurt.CodeUnavailable {
		t.Errorf("error %v", err)
	}
	away.Store(false)
	if again, err := w.CreateSession(t.Context(), reuseRequest()); err != nil || again.ID != first[0].ID {
		t.Errorf("it got %s, error %v", again.ID, err)
	}
}

// unreachable is a placer whose nodes can be away.
type unreachable struct {
	contract.Placer
	away *atomic.Bool
}

func (u *unreachable) Place(ctx context.Context, spec yurt.SandboxSpec, hints contract.Hints) (yurt.Sandbox, yurt.Placement, error) {
	if u.away.Load() {
		return yurt.Sandbox{}, yurt.Placement{}, errAway()
	}
	return u.Placer.Place(ctx, spec, hints)
}

func (u *unreachable) Node(ctx context.Context, name string) (contract.Node, error) {
	if u.away.Load() {
		return nil, errAway()
	}
	return u.Placer.Node(ctx, name)
}

func errAway() error { return yurt.Errorf(yurt.CodeUnavailable, "no node answers") }
