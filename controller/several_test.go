package controller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/execution"
	"github.com/yurtrun/yurt/controller/internal/nodetest"
	"github.com/yurtrun/yurt/controller/postgres"
	"github.com/yurtrun/yurt/test/pgserver"
)

const (
	patientLease = 20 * time.Second // for tests in which no controller dies
	quickLease   = 2 * time.Second  // for tests in which one dies
)

// several is controllers with one store and one node. The world is for its waits.
type several struct {
	*world
	url     string
	members []*member
}

// member is one of them.
type member struct {
	*controller.Controller
	store *postgres.Store
	gate  *gate
	stop  func()
}

// gate is a placer that can be held up.
type gate struct {
	contract.Placer
	mu     sync.Mutex
	closed chan struct{} // nil while it is open
	waits  int
}

func (g *gate) Place(ctx context.Context, spec yurt.SandboxSpec, hints contract.Hints) (yurt.Sandbox, yurt.Placement, error) {
	g.mu.Lock()
	closed := g.closed
	g.waits++
	g.mu.Unlock()
	if closed != nil {
		select {
		case <-closed:
		case <-ctx.Done():
			return yurt.Sandbox{}, yurt.Placement{}, ctx.Err()
		}
	}
	return g.Placer.Place(ctx, spec, hints)
}

func (g *gate) shut() (open func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	closed := make(chan struct{})
	g.closed = closed
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		close(closed)
		g.closed = nil
	})
}

func (g *gate) placed() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waits
}

func newFleet(t *testing.T, url string, n int, lease time.Duration) *several {
	f := &several{url: url, world: &world{t: t, node: nodetest.New(), clock: newClock()}}
	t.Cleanup(f.node.Release) // last: so that no execution goes on in the node
	for range n {
		f.join(t, lease)
	}
	return f
}

// join starts a controller and waits until it is ready.
func (f *several) join(t *testing.T, lease time.Duration, changes ...func(*controller.Config)) *member {
	m := f.begin(t, lease, changes...)
	f.members = append(f.members, m)
	f.Controller = f.members[0].Controller
	f.eventually("the controller is ready", func() bool { return m.Ready(context.Background()) == nil })
	return m
}

// begin starts a controller, which the test stops in the end.
func (f *several) begin(t *testing.T, lease time.Duration, changes ...func(*controller.Config)) *member {
	store, err := postgres.Open(t.Context(), f.url)
	if err != nil {
		t.Fatal(err)
	}
	m := &member{store: store, gate: &gate{Placer: f.node.Placer()}}
	config := controller.Config{
		Store: store, Placer: m.gate, Templates: nodetest.Templates(), Clock: f.clock, LeaseTime: lease,
	}
	for _, change := range changes {
		change(&config)
	}
	m.Controller, err = controller.New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := m.Run(ctx); err != nil {
			t.Errorf("running a controller: %v", err)
		}
	})
	m.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		if err := m.Close(); err != nil {
			t.Errorf("closing a controller: %v", err)
		}
		_ = store.Close()
	})
	t.Cleanup(m.stop)
	return m
}

// kill ends a member like kill -9, as the others see it: it stores no more.
func (f *several) kill(m *member) {
	_ = m.store.Close()
	f.members = slices.DeleteFunc(f.members, func(have *member) bool { return have == m })
	f.Controller = f.members[0].Controller
}

func (f *several) leaders() []*member {
	var list []*member
	for _, m := range f.members {
		if m.Leads() {
			list = append(list, m)
		}
	}
	return list
}

func TestSeveralControllers(t *testing.T) {
	server := pgserver.Start(t)
	for _, test := range []struct {
		name string
		test func(t *testing.T, url string)
	}{
		{"one leads, and another takes over", testLeader},
		{"executions are followed on", testFollowOn},
		{"any of them watches", testWatchAnywhere},
		{"any of them ends a session", testEndAnywhere},
		{"what one makes the others leave alone", testMakingIsLeftAlone},
		{"what one that is gone was making is cleared up", testMakerIsGone},
		{"a key is used once", testKeyAnywhere},
		{"a session to reuse is made once", testReuseAnywhere},
		{"sessions expire", testExpiryAnywhere},
		{"their machines' clocks are wrong", testWrongClocks},
		{"the clock of the store jumps", testStoreClockJumps},
	} {
		t.Run(test.name, func(t *testing.T) { test.test(t, server.Database()) })
	}
}

func testLeader(t *testing.T, url string) {
	f := newFleet(t, url, 3, quickLease)
	for len(f.members) > 1 {
		f.eventually("one leads", func() bool { return len(f.leaders()) == 1 })
		f.kill(f.leaders()[0])
	}
	f.eventually("the last one leads", f.Leads)
	next := f.join(t, quickLease)
	if next.Leads() {
		t.Error("a second one leads")
	}
	f.members[0].stop()
	f.eventually("the next one leads", next.Leads)
}

func testFollowOn(t *testing.T, url string) {
	f := newFleet(t, url, 3, quickLease)
	s, fleeting := f.create(yurt.ModePersistent), f.create(yurt.ModeEphemeral)
	first, second := f.execute(s.ID, "echo a block"), f.execute(fleeting.ID, "echo b block")
	f.kill(f.members[0])
	for _, m := range f.members {
		if e, err := m.Execution(t.Context(), s.ID, first.ID); err != nil || e.State.Ended() {
			t.Errorf("%+v, error %v", e, err)
		}
	}
	f.node.Release()
	for e, want := range map[*yurt.Execution]string{&first: "a\n", &second: "b\n"} {
		if got := f.wait(*e); got.Result.Stdout != want || got.Result.Error != nil {
			t.Errorf("result %+v", got.Result)
		}
	}
	f.wantState(s.ID, yurt.SessionReady, "execution "+first.ID+" ended")
	f.wantState(fleeting.ID, yurt.SessionTerminated, "ephemeral: its one execution ended")
}

func testWatchAnywhere(t *testing.T, url string) {
	f := newFleet(t, url, 2, patientLease)
	s := f.create(yurt.ModePersistent)
	e := f.execute(s.ID, "echo a block echo b")
	var text string
	var last uint64
	for round := range 2 {
		m := f.members[1-round]
		err := m.WatchExecution(t.Context(), s.ID, e.ID, last, func(event yurt.Event) error {
			if event.Seq != last+1 {
				t.Errorf("event %d follows %d", event.Seq, last)
			}
			last = event.Seq
			if text += string(event.Data); text == "a\n" && round == 0 {
				return context.Canceled // the other controller goes on
			}
			if event.Type == yurt.EventEnded && event.Result.Stdout != "a\nb\n" {
				t.Errorf("result %+v", event.Result)
			}
			return nil
		})
		if round == 0 {
			f.node.Release()
		} else if err != nil {
			t.Error(err)
		}
	}
	if text != "a\nb\n" {
		t.Errorf("watched %q", text)
	}
}

func testEndAnywhere(t *testing.T, url string) {
	f := newFleet(t, url, 3, patientLease)
	s := f.create(yurt.ModePersistent)
	e := f.execute(s.ID, "echo a block")
	if _, err := f.members[1].EndSession(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	f.Controller = f.members[2].Controller
	got := f.wait(e)
	if got.Result.Error == nil || got.Result.Error.Type != yurt.ErrorTypeSessionEnded {
		t.Errorf("result %+v", got.Result)
	}
	f.wantNoSandbox()
}

func testMakingIsLeftAlone(t *testing.T, url string) {
	f := newFleet(t, url, 2, patientLease)
	f.eventually("one leads", func() bool { return len(f.leaders()) == 1 })
	leader := f.leaders()[0]
	maker := f.members[(slices.Index(f.members, leader)+1)%2]
	open := maker.gate.shut()
	defer open()
	made := make(chan yurt.Session)
	go func() {
		defer close(made)
		s, err := maker.CreateSession(t.Context(), controller.CreateSessionRequest{TemplateID: "python-basic", Mode: yurt.ModePersistent})
		if err != nil {
			t.Error(err)
		}
		made <- s
	}()
	f.eventually("it is being placed", func() bool { return maker.gate.placed() == 1 })
	purged := f.create(yurt.ModePersistent)
	for range 3 { // sweeps: the dead sandbox shows that there was one
		f.node.Kill(purged.SandboxID, "so that a sweep finds it")
		f.clock.advance(time.Minute)
	}
	f.eventually("there was a sweep", func() bool { return f.session(purged.ID).State == yurt.SessionFailed })
	open()
	if s := <-made; s.State != yurt.SessionReady {
		t.Errorf("the session is %s: %s", s.State, s.Reason)
	}
}

func testMakerIsGone(t *testing.T, url string) {
	f := newFleet(t, url, 2, quickLease)
	maker := f.members[0]
	open := maker.gate.shut()
	defer open()
	left := make(chan struct{})
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		defer close(left)
		_, err := maker.CreateSession(ctx, controller.CreateSessionRequest{TemplateID: "python-basic"})
		if err == nil {
			t.Error("a controller that is gone made a session")
		}
	}()
	f.eventually("it is being placed", func() bool { return maker.gate.placed() == 1 })
	f.kill(maker)
	sessions, err := f.Sessions(t.Context(), contract.SessionQuery{})
	if err != nil || len(sessions) != 1 {
		t.Fatalf("sessions %v, error %v", sessions, err)
	}
	// The sandbox comes to be all the same, and has no session.
	f.wantState(sessions[0].ID, yurt.SessionFailed, "it was interrupted by a restart while its sandbox was made")
	open()
	leave()
	<-left
	for range 3 {
		f.clock.advance(time.Minute)
	}
	f.wantNoSandbox()
}

func testKeyAnywhere(t *testing.T, url string) {
	f := newFleet(t, url, 3, patientLease)
	open := f.members[0].gate.shut()
	defer open()
	request := controller.CreateSessionRequest{TemplateID: "python-basic", Mode: yurt.ModePersistent, IdempotencyKey: "key"}
	made := make(chan yurt.Session, 6)
	create := func(m *member) {
		s, err := m.CreateSession(t.Context(), request)
		if err != nil {
			t.Error(err)
		}
		made <- s
	}
	go create(f.members[0])
	f.eventually("it is being placed", func() bool { return f.members[0].gate.placed() == 1 })
	for n := range 5 {
		go create(f.members[n%3])
	}
	open()
	ids := map[string]bool{}
	for range 6 {
		s := <-made
		ids[s.ID] = true
		if s.State != yurt.SessionReady {
			t.Errorf("a repeated request got a session that is %s", s.State)
		}
	}
	if len(ids) != 1 {
		t.Errorf("one key made %d sessions", len(ids))
	}
}

func testExpiryAnywhere(t *testing.T, url string) {
	f := newFleet(t, url, 3, patientLease)
	for n, m := range f.members {
		f.Controller = m.Controller
		s := f.create(yurt.ModePersistent)
		f.clock.advance(yurt.DefaultIdleTimeout + time.Second)
		f.wantState(s.ID, yurt.SessionTerminated, "idle for "+yurt.Duration(yurt.DefaultIdleTimeout).String())
		if story, err := m.Transitions(t.Context(), s.ID); err != nil || len(story) != 3 {
			t.Errorf("controller %d: story %v, error %v", n, story, err)
		}
	}
	f.wantNoSandbox()
}

// TestLoadOnSeveralControllers has clients use any of the controllers, one of which dies. Answers stay valid: each
// execution has its own one result.
func TestLoadOnSeveralControllers(t *testing.T) {
	const clients, rounds = 6, 12
	f := newFleet(t, pgserver.Start(t).Database(), 3, quickLease)
	doomed, rest := f.members[0], slices.Clone(f.members[1:])
	var group sync.WaitGroup
	for client := range clients {
		group.Go(func() {
			for round := range rounds {
				members := rest
				if round < rounds/2 {
					members = append(slices.Clone(rest), doomed)
				}
				m := members[(client+round)%len(members)]
				other := rest[(client+round)%len(rest)]
				runOnce(t, m, other, fmt.Sprintf("c%dr%d", client, round), m == doomed)
			}
		})
	}
	f.eventually("something was made", func() bool { return doomed.gate.placed() > 3 })
	f.kill(doomed)
	group.Wait()
	f.eventually("every session has ended", func() bool {
		live, err := f.Sessions(t.Context(), contract.SessionQuery{Live: true})
		return err == nil && len(live) == 0
	})
	for f.node.Count() > 0 {
		f.clock.advance(time.Minute)
		time.Sleep(10 * time.Millisecond)
	}
}

// runOnce makes a session at one controller, and reads its output at another. Where the first controller may die, the
// run may fail, but not give a wrong answer.
func runOnce(t *testing.T, at, other *member, word string, mayFail bool) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := at.CreateSession(ctx, controller.CreateSessionRequest{TemplateID: "shell-basic", Mode: yurt.ModeEphemeral})
	if err != nil {
		if !mayFail {
			t.Errorf("creating a session: %v", err)
		}
		return
	}
	e, err := at.Execute(ctx, s.ID, execution.Request{Command: execution.ShellCommand("echo " + word)})
	if err != nil {
		if !mayFail {
			t.Errorf("executing: %v", err)
		}
		_, _ = other.EndSession(ctx, s.ID)
		return
	}
	got, err := other.WaitExecution(ctx, s.ID, e.ID)
	if err != nil || got.Result.Stdout != word+"\n" || got.Result.Error != nil {
		t.Errorf("%s: %+v, error %v", word, got.Result, err)
	}
}

// TestStoreIsAway kills the store under two controllers: results of that time are kept, requests are refused with a
// time to wait, and everything goes on afterwards.
func TestStoreIsAway(t *testing.T) {
	server := pgserver.Start(t)
	f := newFleet(t, server.Database(), 2, quickLease)
	s, fleeting := f.create(yurt.ModePersistent), f.create(yurt.ModeEphemeral)
	running := []yurt.Execution{f.execute(s.ID, "echo a block"), f.execute(fleeting.ID, "echo a block")}
	server.Kill()
	f.node.Release()
	for _, m := range f.members {
		_, err := m.CreateSession(t.Context(), controller.CreateSessionRequest{TemplateID: "python-basic"})
		var coded *yurt.Error
		if !errors.As(err, &coded) || coded.Code != yurt.CodeUnavailable || coded.RetryAfter == 0 {
			t.Errorf("error %v", err)
		}
		if m.Ready(t.Context()) == nil {
			t.Error("a controller without a store is ready")
		}
	}
	f.eventually("nobody leads", func() bool { return len(f.leaders()) == 0 })
	server.Restart()
	f.eventually("one leads", func() bool { return len(f.leaders()) == 1 })
	for _, e := range running {
		if got := f.wait(e); got.Result.Stdout != "a\n" || got.Result.Error != nil {
			t.Errorf("result %+v", got.Result)
		}
	}
	f.wantState(s.ID, yurt.SessionReady, "execution "+running[0].ID+" ended")
	f.wait(f.execute(s.ID, "echo works"))
	if _, err := f.members[1].EndSession(t.Context(), s.ID); err != nil {
		t.Error(err)
	}
	f.wantNoSandbox()
	if live := f.countLive(); live != 0 {
		t.Errorf("%d sessions live", live)
	}
}

func (f *several) countLive() int {
	live, err := f.Sessions(context.Background(), contract.SessionQuery{Live: true})
	if err != nil {
		f.t.Fatal(err)
	}
	return len(live)
}
