package slots_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/headroom"
	"github.com/yurtrun/yurt/executor/slots"
)

// sandbox has states and no processes.
type sandbox struct {
	taken atomic.Bool
	gone  chan struct{}
}

func (s *sandbox) ID() string    { return "sbx" }
func (s *sandbox) IsReady() bool { return true }
func (s *sandbox) IsTaken() bool { return s.taken.Load() }
func (s *sandbox) IsGone() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}

// node is where sandboxes are made as the test says.
type node struct {
	wait  sync.WaitGroup
	down  atomic.Int32  // how many waiting callers were told to stop
	slow  chan struct{} // closed when it may see that a sandbox is gone; nil for at once
	makes func(*slots.Slot[*sandbox]) error
}

func (n *node) Make(_ context.Context, sl *slots.Slot[*sandbox]) error { return n.makes(sl) }
func (n *node) Await(ctx context.Context, s *sandbox) (string, error) {
	select {
	case <-s.gone:
		if n.slow != nil {
			<-n.slow
		}
		return "it died", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
func (*node) Destroy(context.Context, *sandbox) error { return nil }
func (*node) NotifyOwner(*sandbox, string)            {}
func (n *node) Serve(do func()) error                 { n.wait.Go(do); return nil }
func (*node) IsClosed() bool                          { return false }
func (*node) Changed(string)                          {}
func (n *node) CancelWait(string)                     { n.down.Add(1) }

// open opens a slot, in a directory that outlives the test's bubble.
func open(t *testing.T, dir string, n *node, spec yurt.SlotSpec) *slots.Set[*sandbox] {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	set := slots.New(ctx, dir, n, headroom.New(filepath.Join(dir, "reserve"), 0), slog.New(slog.DiscardHandler))
	t.Cleanup(func() { cancel(); n.wait.Wait() })
	if _, err := set.Open(spec, func(int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return set
}

// TestSandboxThatIsHadAtOnce: the sandbox of a slot for one can be claimed and destroyed, and
// so the slot's end have come, before its keeper has looked at it.
func TestSandboxThatIsHadAtOnce(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		n := &node{}
		var set *slots.Set[*sandbox]
		n.makes = func(sl *slots.Slot[*sandbox]) error {
			s := &sandbox{gone: make(chan struct{})}
			s.taken.Store(true)
			sl.Fill(s)
			close(s.gone)
			set.End(sl, "its sandbox was destroyed", false)
			return nil
		}
		spec := yurt.SlotSpec{ID: "slot-1", Once: true}
		ready := make(chan struct{})
		ends := n.makes
		n.makes = func(sl *slots.Slot[*sandbox]) error { <-ready; return ends(sl) }
		set = open(t, dir, n, spec)
		close(ready)
		ended, err := set.Wait(t.Context(), spec.ID)
		if err != nil || ended.Failed || ended.Reason != "its sandbox was destroyed" {
			t.Errorf("it is %+v, %v", ended, err)
		}
		<-set.Get(spec.ID).Kept()
	})
}

// TestSandboxThatIsGoneIsNotClaimed: a caller that asks for the next sandbox of a slot, when the last one was destroyed, is not
// told that the slot is another's because its keeper is slow.
func TestSandboxThatIsGoneIsNotClaimed(t *testing.T) {
	s := &sandbox{gone: make(chan struct{})}
	made := make(chan struct{})
	n := &node{slow: make(chan struct{})}
	n.makes = func(sl *slots.Slot[*sandbox]) error {
		sl.Fill(s)
		close(made)
		n.makes = func(*slots.Slot[*sandbox]) error { return errors.New("no other") }
		return nil
	}
	set := open(t, t.TempDir(), n, yurt.SlotSpec{ID: "slot-3"})
	<-made
	sl := set.Get("slot-3")
	for _, then := range []struct {
		want yurt.SlotState
		do   func()
	}{
		{yurt.SlotReady, func() { s.taken.Store(true) }},
		{yurt.SlotClaimed, func() { close(s.gone) }},
		{yurt.SlotMaking, func() { close(n.slow) }},
	} {
		if now := sl.View(); now.State != then.want {
			t.Errorf("it is %s, want %s", now.State, then.want)
		}
		then.do()
	}
}

// TestSlotThatCannotBeFilled is given up after a while, in which it waits longer and longer,
// and stays so for the next executor.
func TestSlotThatCannotBeFilled(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		n := &node{makes: func(*slots.Slot[*sandbox]) error {
			at = append(at, time.Now())
			return errors.New("no room")
		}}
		spec := yurt.SlotSpec{ID: "slot-2"}
		set := open(t, dir, n, spec)
		ended, err := set.Wait(t.Context(), spec.ID)
		if err != nil || !ended.Failed || ended.Reason != "no room" {
			t.Fatalf("it is %+v, %v", ended, err)
		}
		if took := at[len(at)-1].Sub(at[0]); len(at) != 8 || took < 6*time.Second || took > 18*time.Second {
			t.Errorf("it was tried %d times in %s", len(at), took)
		}
		next := slots.New(t.Context(), dir, n, headroom.New(filepath.Join(dir, "reserve"), 0), slog.New(slog.DiscardHandler))
		if err := next.Load(); err != nil {
			t.Fatal(err)
		}
		if sl := next.Get(spec.ID); sl == nil || sl.View().State != yurt.SlotEnded || !sl.View().Failed {
			t.Errorf("the next executor has %+v", sl)
		}
		if err := set.Close(t.Context(), spec.ID); err != nil {
			t.Error(err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
			t.Errorf("left is %v, %v", entries, err)
		}
	})
}

// TestWaitingForASlotInVain: a caller that waits for the next sandbox of a slot is told to stop, once, as soon as it is known that
// it will not come soon; later callers are not sent to wait.
func TestWaitingForASlotInVain(t *testing.T) {
	type then func(t *testing.T, set *slots.Set[*sandbox], sl *slots.Slot[*sandbox], made chan<- error)
	fails := func(_ *testing.T, _ *slots.Set[*sandbox], _ *slots.Slot[*sandbox], made chan<- error) {
		made <- errors.New("no room")
	}
	ends := func(_ *testing.T, set *slots.Set[*sandbox], sl *slots.Slot[*sandbox], _ chan<- error) {
		set.End(sl, "not needed", false)
	}
	closes := func(t *testing.T, set *slots.Set[*sandbox], sl *slots.Slot[*sandbox], _ chan<- error) {
		go func() { _ = set.Close(t.Context(), sl.Spec.ID) }() // once its keeper has left
	}
	for name, test := range map[string]struct {
		waits bool
		then  then
		want  int32
	}{
		"it fails": {true, fails, 1}, "nobody waits, and it fails": {false, fails, 0},
		"it is closed": {true, closes, 1}, "nobody waits, and it is closed": {false, closes, 0},
		"it ends": {true, ends, 1}, "nobody waits, and it ends": {false, ends, 0},
		"it is filled": {true, func(_ *testing.T, _ *slots.Set[*sandbox], _ *slots.Slot[*sandbox], made chan<- error) { made <- nil }, 0},
	} {
		dir := t.TempDir()
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				made := make(chan error)
				defer close(made)
				n := &node{makes: func(sl *slots.Slot[*sandbox]) error {
					err := <-made
					if err == nil {
						sl.Fill(&sandbox{gone: make(chan struct{})})
					}
					return err
				}}
				set := open(t, dir, n, yurt.SlotSpec{ID: "slot-4"})
				sl := set.Get("slot-4")
				if test.waits && !sl.BeHurried() {
					t.Fatal("nobody can wait for it")
				}
				test.then(t, set, sl, made)
				synctest.Wait()
				if now, more := n.down.Load(), sl.BeHurried(); now != test.want || more {
					t.Errorf("%d were let down, want %d; one more can wait: %t", now, test.want, more)
				}
			})
		})
	}
}
