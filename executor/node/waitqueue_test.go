package node_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestClaimOfWhatIsComing: a request for the next sandbox of a template gets that of a slot which makes one. It fails
// at once when there is no such slot or other callers wait for all of them, and never takes a session's own slot.
func TestClaimOfWhatIsComing(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	next := func(session string) (yurt.Sandbox, error) {
		return e.AwaitSandbox(t.Context(), wanted(session), "")
	}
	if _, err := next("ses_1"); yurt.CodeOf(err) != yurt.CodeNotFound {
		t.Fatalf("without a slot it says %v", err)
	}
	open(t, e, room("own", forSession("ses_9")))
	if _, err := next("ses_1"); yurt.CodeOf(err) != yurt.CodeNotFound {
		t.Fatalf("with another's slot it says %v", err)
	}
	open(t, e, room("a"))
	first, err := next("ses_1")
	if err != nil || first.Slot != "a" || first.Warm || first.Labels[yurt.SessionLabel] != "ses_1" {
		t.Fatalf("it got %+v, %v", first, err)
	}
	if _, err := next("ses_2"); yurt.CodeOf(err) != yurt.CodeNotFound {
		t.Fatalf("when it is claimed it says %v", err)
	}
	if err := e.DestroySandbox(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	second, err := next("ses_2")
	if err != nil || second.Slot != "a" || second.ID == first.ID {
		t.Fatalf("after that it got %+v, %v", second, err)
	}
	if r := testutil.Run(t, e, second.ID, "echo hello"); r.Stdout != "hello\n" {
		t.Errorf("it says %+v", r)
	}
}

// TestNextOnesAreClaimedOnce: while sessions come and go faster than slots are refilled, each waiting caller gets a
// sandbox of its own, and a caller that leaves while it waits keeps no sandbox.
func TestNextOnesAreClaimedOnce(t *testing.T) {
	t.Parallel()
	e := testutil.Executor(t)
	const slots, clients, rounds = 3, 5, 6
	const hurry = 10 * time.Millisecond // which is enough for some sandboxes, and not for others
	for i := range slots {
		open(t, e, room(fmt.Sprintf("s%d", i)))
	}
	var (
		mu     sync.Mutex
		owners = map[string]string{}
		all    sync.WaitGroup
	)
	for client := range clients {
		all.Go(func() {
			for round := range rounds {
				me := fmt.Sprintf("ses_%d_%d", client, round)
				ctx, cancel := context.WithCancel(t.Context())
				if client == 0 { // it is in a hurry
					ctx, cancel = context.WithTimeout(t.Context(), hurry)
				}
				s, err := awaitNext(ctx, e, me)
				cancel()
				if err != nil {
					if client != 0 {
						t.Error(err)
					}
					continue
				}
				mu.Lock()
				if other := owners[s.ID]; other != "" {
					t.Errorf("%s has the sandbox of %s", me, other)
				}
				owners[s.ID] = me
				mu.Unlock()
				if s.Labels[yurt.SessionLabel] != me {
					t.Errorf("%s got that of %s", me, s.Labels[yurt.SessionLabel])
				}
				if err := e.DestroySandbox(t.Context(), s.ID); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for i := range slots { // callers that left cost no sandbox
		awaitSlot(t, e, fmt.Sprintf("s%d", i), yurt.SlotReady)
	}
}

// TestWaiterWhoseSlotIsClosed: the slot's waiter gets an error at once, and the waiter for the other slot gets that
// one's sandbox.
func TestWaiterWhoseSlotIsClosed(t *testing.T) {
	t.Parallel()
	e, template, images := withheld(t)
	for _, id := range []string{"a", "b"} {
		open(t, e, room(id, func(s *yurt.SlotSpec) { s.Template = template }))
	}
	answers := await(t, e, template, 3)
	wantNone(t, answers) // so two are in line, one for each slot
	if err := e.CloseSlot(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	wantNone(t, answers)
	images.release(true)
	if last := <-answers; last.err != nil || last.sandbox.Slot != "b" {
		t.Errorf("of the other slot came %+v, %v", last.sandbox, last.err)
	}
}

// TestWaiterWhoseSlotFails is told so at once, and the slot has a sandbox all the same once there can be one.
func TestWaiterWhoseSlotFails(t *testing.T) {
	t.Parallel()
	e, template, images := withheld(t)
	open(t, e, room("a", func(s *yurt.SlotSpec) { s.Template = template }))
	answers := await(t, e, template, 2)
	wantNone(t, answers) // so one is in line
	images.release(false)
	wantNone(t, answers)
	images.release(true)
	awaitSlot(t, e, "a", yurt.SlotReady)
	if last := <-await(t, e, template, 1); last.err != nil || last.sandbox.Slot != "a" {
		t.Errorf("afterwards came %+v, %v", last.sandbox, last.err)
	}
}

// answer is the outcome of waiting for the next sandbox.
type answer struct {
	sandbox yurt.Sandbox
	err     error
}

// await has so many sessions wait for the next sandbox of the template.
func await(t *testing.T, e *executor.Executor, template yurt.Template, sessions int) <-chan answer {
	t.Helper()
	answers := make(chan answer, sessions)
	ctx, cancel := context.WithTimeout(t.Context(), testutil.Moment(t, time.Minute))
	t.Cleanup(cancel)
	for i := range sessions {
		spec := wanted(fmt.Sprintf("ses_%d", i))
		spec.Template = template
		go func() {
			sandbox, err := e.AwaitSandbox(ctx, spec, "")
			answers <- answer{sandbox, err}
		}()
	}
	return answers
}

// wantNone wants the next answer to be that no sandbox is coming.
func wantNone(t *testing.T, answers <-chan answer) {
	t.Helper()
	if next := <-answers; yurt.CodeOf(next.err) != yurt.CodeNotFound {
		t.Fatalf("it got %+v, %v", next.sandbox, next.err)
	}
}

// withheld is an executor with a template whose image comes when it is released.
func withheld(t *testing.T) (*executor.Executor, yurt.Template, *gate) {
	t.Helper()
	testutil.NeedsSandboxes(t)
	registry := testutil.StartRegistry(t)
	reference, _ := registry.Push(t, "shell:1", testutil.ImageConfig{}, shellLayer(t))
	g := &gate{opened: make(chan struct{}), next: httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: registry.Host})}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	config := withImages(t, &testutil.Registry{Host: strings.TrimPrefix(server.URL, "http://")})
	config.Transient = true
	template := testutil.Template()
	template.RootFS = yurt.RootFS{Image: strings.Replace(reference, registry.Host, config.Images.Registries[0], 1)}
	return testutil.Start(t, config), template, g
}

// gate keeps everything waiting until it is opened.
type gate struct {
	once   sync.Once
	opened chan struct{}
	has    atomic.Bool
	next   http.Handler
}

// release answers the waiting requests: with the requested data, or that it does not exist.
func (g *gate) release(has bool) {
	g.has.Store(has)
	g.once.Do(func() { close(g.opened) })
}

// ServeHTTP implements [http.Handler].
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-g.opened:
	case <-r.Context().Done():
	}
	if !g.has.Load() {
		http.NotFound(w, r)
		return
	}
	g.next.ServeHTTP(w, r)
}

// awaitNext asks until one is coming.
func awaitNext(ctx context.Context, e *executor.Executor, session string) (yurt.Sandbox, error) {
	for {
		s, err := e.AwaitSandbox(ctx, wanted(session), "")
		if yurt.CodeOf(err) != yurt.CodeNotFound {
			return s, err
		}
		time.Sleep(time.Millisecond)
	}
}
