package controller_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/contract"
)

// fullPlacer places a session when it is let, or when its wait ends, as a node with a long queue does.
type fullPlacer struct {
	contract.Placer
	waiting chan struct{} // a value for each session that waits
	let     chan struct{} // closed to place those that wait
	late    bool          // a wait that ends does so too late: the sandbox is there
}

func (p *fullPlacer) Place(ctx context.Context, spec yurt.SandboxSpec, hints contract.Hints) (yurt.Sandbox, yurt.Placement, error) {
	p.waiting <- struct{}{}
	select {
	case <-ctx.Done():
		if !p.late {
			return yurt.Sandbox{}, yurt.Placement{}, fmt.Errorf("waiting for a place: %w", ctx.Err())
		}
	case <-p.let:
	}
	return p.Placer.Place(context.WithoutCancel(ctx), spec, hints)
}

// fullWorld is a world whose placer has sessions wait.
func fullWorld(t *testing.T) (*world, *fullPlacer) {
	placer := &fullPlacer{waiting: make(chan struct{}, 1000), let: make(chan struct{})}
	return testWorld(t, func(c *controller.Config) { placer.Placer, c.Placer = c.Placer, placer }), placer
}

// begin begins so many creates, and returns when all of them wait.
func (p *fullPlacer) begin(ctx context.Context, w *world, reqs ...controller.CreateSessionRequest) (outcomes <-chan error) {
	errs := make(chan error, len(reqs))
	for _, req := range reqs {
		go func() {
			_, err := w.CreateSession(ctx, req)
			errs <- err
		}()
	}
	for range reqs {
		<-p.waiting
	}
	return errs
}

func manyCreates(n int) []controller.CreateSessionRequest {
	reqs := make([]controller.CreateSessionRequest, n)
	for i := range reqs {
		reqs[i] = controller.CreateSessionRequest{TemplateID: "shell-basic"}
	}
	return reqs
}

// wantEnded wants all sessions to be terminated with the reason, and no sandbox.
func (w *world) wantEnded(t *testing.T, sessions int, reason string) {
	t.Helper()
	list, err := w.Sessions(t.Context(), contract.SessionQuery{})
	if err != nil || len(list) != sessions {
		t.Fatalf("%d sessions are stored, error %v; want %d", len(list), err, sessions)
	}
	for _, s := range list {
		if s.State != yurt.SessionTerminated || s.Reason != reason {
			t.Errorf("session %s is %s: %s; want it terminated: %s", s.ID, s.State, s.Reason, reason)
		}
	}
	w.wantNoSandbox()
}

// TestWaitsEndWithTheirCallers: a create whose caller leaves stops waiting for its sandbox, and its session ends, also where the
// sandbox comes at the same moment.
func TestWaitsEndWithTheirCallers(t *testing.T) {
	for name, late := range map[string]bool{"while it waits": false, "as its sandbox comes": true} {
		t.Run(name, func(t *testing.T) {
			w, placer := fullWorld(t)
			placer.late = late
			ctx, leave := context.WithCancelCause(t.Context())
			outcome := placer.begin(ctx, w, manyCreates(1)...)
			leave(io.EOF) // as a caller by MCP leaves
			select {
			case err := <-outcome:
				wantCode(t, err, yurt.CodeCanceled)
			case <-time.After(10 * time.Second):
				t.Fatal("the create waits without its caller")
			}
			w.wantEnded(t, 1, "the caller left before it was ready")
		})
	}
}

// TestFindableCreatesOutliveTheirCallers: a session that its caller can find again is made although the caller left.
func TestFindableCreatesOutliveTheirCallers(t *testing.T) {
	w, placer := fullWorld(t)
	ctx, leave := context.WithCancel(t.Context())
	req := controller.CreateSessionRequest{TemplateID: "shell-basic", IdempotencyKey: "key"}
	outcome := placer.begin(ctx, w, req)
	leave()
	close(placer.let)
	if err := <-outcome; err != nil {
		t.Error(err)
	}
	if again, err := w.CreateSession(t.Context(), req); err != nil || again.State != yurt.SessionReady {
		t.Errorf("the second try got a session that is %q, error %v", again.State, err)
	}
}

// TestRefuseCreates: a controller that stops ends the wait of every create, of a findable one too, and takes no other. It serves requests
// of other kinds.
func TestRefuseCreates(t *testing.T) {
	const crowd = 100
	w, placer := fullWorld(t)
	reqs := append(manyCreates(crowd), controller.CreateSessionRequest{TemplateID: "shell-basic", IdempotencyKey: "key"},
		controller.CreateSessionRequest{TemplateID: "shell-basic", AgentID: "agent", Reuse: true})
	outcomes := placer.begin(t.Context(), w, reqs...)
	var same sync.WaitGroup
	same.Go(func() { // waits for the first one with the key
		_, err := w.CreateSession(t.Context(), reqs[crowd])
		if err != nil {
			wantCode(t, err, yurt.CodeUnavailable)
		}
	})
	if err := w.RefuseCreates(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantEnded(t, len(reqs), "the controller stopped before it was ready")
	same.Wait()
	for range reqs {
		wantRefusal(t, <-outcomes)
	}
	_, err := w.CreateSession(t.Context(), controller.CreateSessionRequest{TemplateID: "shell-basic"})
	wantRefusal(t, err)
	if err := w.RefuseCreates(t.Context()); err != nil {
		t.Error("a second time:", err)
	}
	close(placer.let)
	w.stop()
	w.start()
	if s, err := w.CreateSession(t.Context(), reqs[crowd]); err != nil || s.State != yurt.SessionReady {
		t.Errorf("the next controller answers a request with the key of a refused one with a session that is %q, error %v", s.State, err)
	}
}

// wantRefusal wants an error that tells when to come again.
func wantRefusal(t *testing.T, err error) {
	t.Helper()
	var coded *yurt.Error
	if !errors.As(err, &coded) || coded.Code != yurt.CodeUnavailable || coded.RetryAfter <= 0 {
		t.Errorf("a refused create has the error %v; want the code %s and a time to come again", err, yurt.CodeUnavailable)
	}
}

// TestRefuseCreatesWaits: the controller that stops waits for a create whose sandbox comes too late, and has the sandbox destroyed.
func TestRefuseCreatesWaits(t *testing.T) {
	w, placer := fullWorld(t)
	placer.late = true
	outcome := placer.begin(t.Context(), w, manyCreates(1)...)
	if err := w.RefuseCreates(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantEnded(t, 1, "the controller stopped before it was ready")
	wantRefusal(t, <-outcome)
}
