package controller_test

import (
	"context"
	"flag"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/execution"
	"github.com/yurtrun/yurt/controller/internal/nodetest"
	"github.com/yurtrun/yurt/controller/sqlite"
)

func TestMain(m *testing.M) {
	// Each life takes real time, so there are fewer of them unless -rapid.checks asks
	// for more: the command line is read after this.
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// clock is a controller.Clock that stands still until it is moved.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[chan time.Time]time.Time
}

func newClock() *clock {
	return &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), timers: map[chan time.Time]time.Time{}}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Until(at time.Time) (<-chan time.Time, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fired := make(chan time.Time, 1)
	if !at.After(c.now) {
		fired <- c.now
		return fired, func() {}
	}
	c.timers[fired] = at
	return fired, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.timers, fired)
	}
}

// waitedFor reports whether a goroutine waits for the clock.
func (c *clock) waitedFor() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers) > 0
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	for fired, at := range c.timers {
		if !at.After(c.now) {
			fired <- c.now
			delete(c.timers, fired)
		}
	}
}

// tester has the methods that *testing.T and *rapid.T share.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// world is a controller with its store, node and clock. The controller can be
// restarted, as a process would be.
type world struct {
	*controller.Controller
	t     tester
	store *sqlite.Store
	node  *nodetest.Node
	clock *clock
	stop  func()

	changes []func(*controller.Config)
}

func newWorld(t tester, dir string, changes ...func(*controller.Config)) *world {
	t.Helper()
	store, err := sqlite.Open(context.Background(), filepath.Join(dir, "yurt.db"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, store: store, node: nodetest.New(), clock: newClock(), changes: changes}
	w.start()
	return w
}

// testWorld is a world that is closed when the test ends.
func testWorld(t *testing.T, changes ...func(*controller.Config)) *world {
	t.Helper()
	w := newWorld(t, t.TempDir(), changes...)
	t.Cleanup(w.close)
	return w
}

// start begins a life of the controller.
func (w *world) start() {
	w.t.Helper()
	config := controller.Config{Store: w.store, Placer: w.node.Placer(), Templates: nodetest.Templates(), Clock: w.clock}
	for _, change := range w.changes {
		change(&config)
	}
	c, err := controller.New(config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Controller = c
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			w.t.Errorf("running the controller: %v", err)
		}
	})
	w.stop = func() {
		cancel()
		running.Wait()
		if err := c.Close(); err != nil {
			w.t.Errorf("closing the controller: %v", err)
		}
	}
	w.eventually("the controller is ready", func() bool { return c.Ready(context.Background()) == nil })
}

// restart ends this life and begins the next one. between runs while there is no controller.
func (w *world) restart(between func()) {
	w.t.Helper()
	w.stop()
	between()
	w.start()
}

func (w *world) close() {
	w.stop()
	for _, s := range w.live() { // so that no execution goes on in the node
		_ = w.node.DestroySandbox(context.Background(), s.SandboxID)
	}
	w.node.Release()
	if err := w.store.Close(); err != nil {
		w.t.Errorf("closing the store: %v", err)
	}
}

func (w *world) live() []yurt.Session {
	list, err := w.store.Sessions(context.Background(), contract.SessionQuery{Live: true})
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

func (w *world) eventually(what string, done func() bool) {
	w.t.Helper()
	if !w.soon(done) {
		w.t.Fatalf("it does not come about that %s", what)
	}
}

// soon waits for something that other goroutines bring about.
func (w *world) soon(done func() bool) bool {
	for range 10000 {
		if done() {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

func (w *world) create(mode yurt.Mode) yurt.Session {
	w.t.Helper()
	s, err := w.CreateSession(context.Background(), controller.CreateSessionRequest{TemplateID: "python-basic", Mode: mode})
	if err != nil {
		w.t.Fatalf("creating a session: %v", err)
	}
	return s
}

func (w *world) execute(sessionID, script string) yurt.Execution {
	w.t.Helper()
	e, err := w.Execute(context.Background(), sessionID, execution.Request{Command: execution.ShellCommand(script)})
	if err != nil {
		w.t.Fatalf("executing %q: %v", script, err)
	}
	return e
}

func (w *world) wait(e yurt.Execution) yurt.Execution {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	ended, err := w.WaitExecution(ctx, e.SessionID, e.ID)
	if err != nil {
		w.t.Fatalf("waiting for an execution: %v", err)
	}
	return ended
}

func (w *world) session(id string) yurt.Session {
	w.t.Helper()
	s, err := w.Session(context.Background(), id)
	if err != nil {
		w.t.Fatalf("reading a session: %v", err)
	}
	return s
}

func (w *world) wantState(id string, state yurt.SessionState, reason string) {
	w.t.Helper()
	w.eventually("session is "+string(state), func() bool { return w.session(id).State == state })
	if got := w.session(id).Reason; got != reason {
		w.t.Errorf("the session is %s since %q, want %q", state, got, reason)
	}
}

func (w *world) wantNoSandbox() {
	w.t.Helper()
	w.eventually("no sandbox is left", func() bool { return w.node.Count() == 0 })
}

func wantCode(t tester, err error, code yurt.Code) {
	t.Helper()
	if got := yurt.CodeOf(err); got != code {
		t.Errorf("error %v has code %q, want %q", err, got, code)
	}
}
