package controller_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/contract"
)

// TestReuse: an agent that asks for reuse gets its live session back, if the request matches it.
func TestReuse(t *testing.T) {
	w := testWorld(t)
	ask := func(change func(*controller.CreateSessionRequest)) yurt.Session {
		t.Helper()
		req := controller.CreateSessionRequest{TemplateID: "python-basic", AgentID: "a", Reuse: true, Env: map[string]string{"KEY": "1"}}
		change(&req)
		s, err := w.CreateSession(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	same := func(*controller.CreateSessionRequest) {}
	first := ask(same)
	if first.Placement.Kind != yurt.PlacementCold || first.Mode != yurt.ModePersistent {
		t.Fatalf("the first is %s, %s", first.Placement.Kind, first.Mode)
	}
	w.clock.advance(time.Minute)
	again := ask(same)
	if again.ID != first.ID || again.Placement.Kind != yurt.PlacementReused || again.Placement.Node != first.Placement.Node {
		t.Errorf("asked again it got %+v", again)
	}
	if got := w.session(first.ID); !got.ActiveAt.After(first.ActiveAt) || got.Placement.Kind != yurt.PlacementCold {
		t.Errorf("the session is now %+v", got)
	}
	memory := yurt.Size(64 << 20)
	for what, change := range map[string]func(*controller.CreateSessionRequest){
		"another agent":       func(r *controller.CreateSessionRequest) { r.AgentID = "b" },
		"another environment": func(r *controller.CreateSessionRequest) { r.Env = nil },
		"another template":    func(r *controller.CreateSessionRequest) { r.TemplateID = "shell-basic" },
		"other resources":     func(r *controller.CreateSessionRequest) { r.Resources.Memory = &memory },
		"no reuse":            func(r *controller.CreateSessionRequest) { r.Reuse, r.Mode = false, yurt.ModeEphemeral },
	} {
		if got := ask(change); got.ID == first.ID || got.Placement.Kind != yurt.PlacementCold {
			t.Errorf("%s got %s, %s", what, got.ID, got.Placement.Kind)
		}
	}
	if _, err := w.PauseSession(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	if got := ask(same); got.ID != first.ID || got.State != yurt.SessionReady {
		t.Errorf("asked for one that was paused, it got %s, %s", got.ID, got.State)
	}
	if _, err := w.EndSession(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	if got := ask(same); got.ID == first.ID || got.Placement.Kind != yurt.PlacementCold {
		t.Errorf("after its end it got %s, %s", got.ID, got.Placement.Kind)
	}
	_, err := w.CreateSession(t.Context(), controller.CreateSessionRequest{TemplateID: "python-basic", Reuse: true})
	wantCode(t, err, yurt.CodeInvalidArgument)
}

// hinted is a placer that keeps its hints and its releases.
type hinted struct {
	contract.Placer
	mu       sync.Mutex
	hints    []contract.Hints
	released []string
}

func (h *hinted) Place(ctx context.Context, spec yurt.SandboxSpec, hints contract.Hints) (yurt.Sandbox, yurt.Placement, error) {
	h.mu.Lock()
	h.hints = append(h.hints, hints)
	h.mu.Unlock()
	return h.Placer.Place(ctx, spec, hints)
}

func (h *hinted) Release(_ context.Context, session yurt.Session) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.released = append(h.released, session.ID)
	return nil
}

// TestHints: an agent's session prefers the agent's last node, and the placer's resources for a session are released when it has
// ended.
func TestHints(t *testing.T) {
	var placer *hinted
	w := testWorld(t, func(c *controller.Config) {
		placer = &hinted{Placer: c.Placer}
		c.Placer = placer
	})
	var ids []string
	for range 2 {
		s, err := w.CreateSession(t.Context(), controller.CreateSessionRequest{TemplateID: "python-basic", AgentID: "a"})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, s.ID)
		if _, err := w.EndSession(t.Context(), s.ID); err != nil {
			t.Fatal(err)
		}
	}
	w.wantNoSandbox()
	w.eventually("both are released", func() bool {
		placer.mu.Lock()
		defer placer.mu.Unlock()
		return len(placer.released) == 2
	})
	for _, id := range ids {
		if !slices.Contains(placer.released, id) {
			t.Errorf("%s is not released", id)
		}
	}
	if h := placer.hints; len(h[0].Prefer) != 0 || !slices.Equal(h[1].Prefer, []string{"fake"}) {
		t.Errorf("the placer was told %+v", h)
	}
}
