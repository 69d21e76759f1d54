package controller_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/contract"
)

func (w *world) createWith(lifetime, idle time.Duration) yurt.Session {
	w.t.Helper()
	l, i := yurt.Duration(lifetime), yurt.Duration(idle)
	s, err := w.CreateSession(w.t.(*testing.T).Context(), controller.CreateSessionRequest{
		TemplateID: "shell-basic", Mode: yurt.ModePersistent, Timeout: &l, IdleTimeout: &i,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func TestIdleTimeout(t *testing.T) {
	w := testWorld(t)
	s := w.createWith(time.Hour, time.Minute)
	w.clock.advance(50 * time.Second)
	if _, err := w.WriteFile(t.Context(), s.ID, "a", strings.NewReader("a"), yurt.WriteOptions{}); err != nil { // a use
		t.Fatal(err)
	}
	w.clock.advance(50 * time.Second)
	e := w.execute(s.ID, "block")
	w.clock.advance(2 * time.Minute) // a running execution is not idle
	if got := w.session(s.ID); got.State != yurt.SessionRunning {
		t.Fatalf("the session is %s: %s", got.State, got.Reason)
	}
	w.node.Release()
	w.wait(e)
	w.wantState(s.ID, yurt.SessionReady, "execution "+e.ID+" ended")
	w.clock.advance(59 * time.Second)
	time.Sleep(20 * time.Millisecond)
	if got := w.session(s.ID); got.State != yurt.SessionReady {
		t.Fatalf("the session is %s: %s", got.State, got.Reason)
	}
	w.clock.advance(time.Second)
	w.wantState(s.ID, yurt.SessionTerminated, "idle for 1m0s")
	w.wantNoSandbox()
}

func TestLifetime(t *testing.T) {
	w := testWorld(t)
	s := w.createWith(time.Hour, 2*time.Hour)
	e := w.execute(s.ID, "echo a block")
	w.clock.advance(time.Hour)
	w.wantState(s.ID, yurt.SessionTerminated, "lifetime of 1h0m0s reached")
	if got := w.wait(e); got.Result.Error == nil || got.Result.Error.Type != yurt.ErrorTypeSessionEnded || got.Result.Stdout != "a\n" {
		t.Errorf("result %+v", got.Result)
	}
	w.wantNoSandbox()
}

func TestExpiryWhileDown(t *testing.T) {
	w := testWorld(t)
	s := w.createWith(time.Hour, time.Minute)
	w.restart(func() { w.clock.advance(time.Hour) })
	w.eventually("the session has ended", func() bool { return w.session(s.ID).State == yurt.SessionTerminated })
	w.wantNoSandbox()
}

func TestResultsOutliveTheSession(t *testing.T) {
	w := testWorld(t)
	s := w.create(yurt.ModeEphemeral)
	e := w.wait(w.execute(s.ID, "echo a"))
	w.wantState(s.ID, yurt.SessionTerminated, "ephemeral: its one execution ended")
	w.clock.advance(yurt.ResultRetention - time.Minute)
	if got, err := w.Execution(t.Context(), s.ID, e.ID); err != nil || got.Result.Stdout != "a\n" {
		t.Errorf("the result is %+v, error %v", got.Result, err)
	}
	w.eventually("the session is purged", func() bool {
		w.clock.advance(time.Minute)
		_, err := w.Execution(t.Context(), s.ID, e.ID)
		return yurt.CodeOf(err) == yurt.CodeSessionNotFound
	})
}

func TestForget(t *testing.T) {
	w := testWorld(t)
	s := w.create(yurt.ModePersistent)
	e := w.wait(w.execute(s.ID, "echo a"))
	w.clock.advance(50 * time.Second)
	time.Sleep(20 * time.Millisecond)
	if slices.Contains(w.node.Forgotten(), e.ID) {
		t.Error("the execution was forgotten at once")
	}
	w.clock.advance(11 * time.Second)
	w.eventually("the node forgets it", func() bool { return slices.Contains(w.node.Forgotten(), e.ID) })
	var types []yurt.EventType
	err := w.WatchExecution(t.Context(), s.ID, e.ID, 0, func(event yurt.Event) error {
		types = append(types, event.Type)
		return nil
	})
	if want := []yurt.EventType{yurt.EventStarted, yurt.EventStdout, yurt.EventEnded}; err != nil || !slices.Equal(types, want) {
		t.Errorf("the replay is %v, error %v", types, err)
	}
}

// TestForgetEarly: a node must not have to hold any number of ended executions.
func TestForgetEarly(t *testing.T) {
	w := testWorld(t)
	s := w.create(yurt.ModePersistent)
	for range 600 {
		w.wait(w.execute(s.ID, "echo a"))
	}
	w.eventually("the node forgets the oldest", func() bool { return len(w.node.Forgotten()) >= 600-512 })
}

func TestSweepDestroysStrays(t *testing.T) {
	w := testWorld(t)
	s := w.create(yurt.ModePersistent)
	w.node.Fail("DestroySandbox", yurt.Errorf(yurt.CodeInternal, "busy"))
	if _, err := w.EndSession(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.node.CreateSandbox(t.Context(), yurt.SandboxSpec{ID: "sbx_other"}); err != nil { // not of a controller
		t.Fatal(err)
	}
	w.eventually("the sandbox is swept up", func() bool {
		w.clock.advance(time.Minute)
		_, ok := w.node.Spec(s.SandboxID)
		return !ok
	})
	if _, ok := w.node.Spec("sbx_other"); !ok {
		t.Error("a sandbox of somebody else was destroyed")
	}
}

// TestNodeIsAskedAgain: a node that does not answer when a sandbox must be destroyed is asked again, before the next sweep.
func TestNodeIsAskedAgain(t *testing.T) {
	w := testWorld(t)
	s := w.create(yurt.ModePersistent)
	w.node.Fail("DestroySandbox", yurt.Errorf(yurt.CodeUnavailable, "it is being started again"))
	if _, err := w.EndSession(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	w.eventually("the sandbox is gone, though the clock stands still", func() bool {
		_, there := w.node.Spec(s.SandboxID)
		return !there
	})
}

// sweptStore tells of each sweep that ended.
type sweptStore struct {
	contract.Store

	swept chan struct{}
	slow  atomic.Pointer[func()] // called as the next one begins to look
}

func (s *sweptStore) Sessions(ctx context.Context, query contract.SessionQuery) ([]yurt.Session, error) {
	if slow := s.slow.Swap(nil); slow != nil {
		(*slow)()
	}
	return s.Store.Sessions(ctx, query)
}

func (s *sweptStore) PurgeSessions(ctx context.Context, before time.Time) (int, error) {
	defer func() {
		select {
		case s.swept <- struct{}{}:
		case <-ctx.Done():
		}
	}()
	return s.Store.PurgeSessions(ctx, before)
}

// TestNodeIsListedAgain: a node that did not answer a sweep is listed again a moment later.
func TestNodeIsListedAgain(t *testing.T) {
	store := &sweptStore{swept: make(chan struct{})}
	w := testWorld(t, func(config *controller.Config) {
		store.Store = config.Store
		config.Store = store
	})
	<-store.swept // as the node is there, and was not
	s := w.create(yurt.ModePersistent)
	w.node.Fail("DestroySandbox", yurt.Errorf(yurt.CodeInternal, "busy"))
	if _, err := w.EndSession(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	sweepAfter := func(d time.Duration) bool {
		w.eventually("the controller waits", w.clock.waitedFor)
		w.clock.advance(d)
		select {
		case <-store.swept:
			return true
		case <-time.After(20 * time.Second):
			return false
		}
	}
	w.node.Fail("Sandboxes", yurt.Errorf(yurt.CodeUnavailable, "it has just come back"))
	for _, after := range []time.Duration{30 * time.Second, 2 * time.Second} {
		if !sweepAfter(after) {
			t.Fatalf("nothing was swept after %s", after)
		}
	}
	w.eventually("its sandbox is gone", func() bool {
		_, there := w.node.Spec(s.SandboxID)
		return !there
	})
}

// lateStore lets a session become ready between a sweep's look at it and the sweep's decision.
type lateStore struct {
	contract.Store

	making, looked, made, swept chan struct{}
	holds, looks                sync.Once
}

// PurgeSessions is the last step of a sweep.
func (s *lateStore) PurgeSessions(ctx context.Context, before time.Time) (int, error) {
	select {
	case <-s.making:
		s.swept <- struct{}{}
	default: // an earlier one
	}
	return s.Store.PurgeSessions(ctx, before)
}

func (s *lateStore) ChangeSession(ctx context.Context, id string, change contract.SessionChange) (yurt.Session, error) {
	s.holds.Do(func() {
		close(s.making)
		select {
		case <-s.looked:
		case <-time.After(time.Second): // for a sweep that does not look
		}
	})
	return s.Store.ChangeSession(ctx, id, change)
}

func (s *lateStore) Session(ctx context.Context, id string) (yurt.Session, error) {
	session, err := s.Store.Session(ctx, id)
	if err == nil && session.State == yurt.SessionCreating {
		session.SandboxID = yurt.NewSandboxID() // as where one is claimed, whose id only its node knows
		s.looks.Do(func() {
			close(s.looked)
			<-s.made
		})
	}
	return session, err
}

// TestSweepBesideACreate: a session that becomes ready while a sweep looks at it keeps
// its sandbox.
func TestSweepBesideACreate(t *testing.T) {
	late := &lateStore{making: make(chan struct{}), looked: make(chan struct{}), made: make(chan struct{}), swept: make(chan struct{}, 10)}
	w := testWorld(t, func(config *controller.Config) {
		late.Store = config.Store
		config.Store = late
	})
	w.eventually("the controller waits", w.clock.waitedFor)
	var s yurt.Session
	var err error
	go func() {
		defer close(late.made)
		s, err = w.CreateSession(t.Context(), controller.CreateSessionRequest{TemplateID: "python-basic", Mode: yurt.ModePersistent})
	}()
	<-late.making // it has its sandbox, and is not ready
	w.clock.advance(time.Minute)
	<-late.made
	<-late.swept
	if _, ok := w.node.Spec(s.SandboxID); !ok || err != nil {
		t.Errorf("its sandbox is there: %t, %v", ok, err)
	}
}
