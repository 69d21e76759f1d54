package controller_test

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller"
	"github.com/yurtrun/yurt/controller/postgres"
)

// setsClockEnv says that the machine is the test's own, and that the clock of the store's server
// is to be set in earnest: with that of the machine, which is that of the controllers' too.
const setsClockEnv = "YURT_TEST_SETS_CLOCK"

// wrong is a clock that differs from this machine's, by what can be changed.
type wrong struct{ by atomic.Int64 }

func wrongBy(by time.Duration) *wrong {
	w := &wrong{}
	w.by.Store(int64(by))
	return w
}

func (w *wrong) jump(by time.Duration) { w.by.Add(int64(by)) }

// set is jump, or sets the machine's clock where that is asked for.
func (w *wrong) set(t *testing.T, by time.Duration) {
	t.Helper()
	w.jump(by)
	if os.Getenv(setsClockEnv) == "" {
		return
	}
	to := unix.NsecToTimespec(time.Now().Add(by).UnixNano())
	if err := unix.ClockSettime(unix.CLOCK_REALTIME, &to); err != nil {
		t.Fatal(err)
	}
}

func (w *wrong) now() time.Time { return time.Now().Add(time.Duration(w.by.Load())) }

// machine gives a controller a machine with that clock.
func (w *wrong) machine(config *controller.Config) { config.Clock = controller.MachineClock(w.now) }

// of gives a controller a store whose server is on a machine with that clock.
func (w *wrong) of(config *controller.Config) {
	if os.Getenv(setsClockEnv) != "" {
		return
	}
	config.Store = jumpingStore{config.Store.(*postgres.Store), w}
}

// jumpingStore is a store whose server's clock is wrong.
type jumpingStore struct {
	*postgres.Store
	clock *wrong
}

func (s jumpingStore) StoreClock(ctx context.Context) (time.Time, time.Duration, error) {
	now, behind, err := s.Store.StoreClock(ctx)
	return now.Add(time.Duration(s.clock.by.Load())), behind, err
}

// idleAt makes a session, at one of the controllers, that ends when it is idle for so long.
func (f *fleet) idleAt(t *testing.T, m *member, idle time.Duration) yurt.Session {
	t.Helper()
	timeout := yurt.Duration(idle)
	s, err := m.CreateSession(t.Context(), controller.CreateSessionRequest{
		TemplateID: "shell-basic", Mode: yurt.ModePersistent, IdleTimeout: &timeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wantTimely wants what runs out, wherever it was made, to end in its time, and what does not
// to live.
func (f *fleet) wantTimely(t *testing.T, live ...yurt.Session) {
	t.Helper()
	for _, m := range f.members {
		quick := f.idleAt(t, m, time.Second)
		f.eventually("a session that nobody uses ends", func() bool { return f.session(quick.ID).State.Ended() })
		quick = f.session(quick.ID)
		if took := quick.EndedAt.Sub(quick.CreatedAt); quick.State != yurt.SessionTerminated || took < time.Second || took > time.Minute {
			t.Errorf("a session that ends after a second is %s after %s: %s", quick.State, took, quick.Reason)
		}
	}
	for _, s := range live {
		if now := f.session(s.ID); now.State != yurt.SessionReady {
			t.Errorf("a session is %s: %s", now.State, now.Reason)
		}
	}
}

// onlyLast stops all controllers but the last one, which leads then.
func (f *fleet) onlyLast() {
	last := f.members[len(f.members)-1]
	for _, m := range f.members {
		if m != last {
			m.stop()
		}
	}
	f.members, f.Controller = []*member{last}, last.Controller
	f.eventually("the last one leads", last.Leads)
}

// testWrongClocks: what the clock of a controller's machine says, and is set to, shows in no
// session, whoever made it and whoever leads.
func testWrongClocks(t *testing.T, url string) {
	f := newFleet(t, url, 0, quickLease)
	ahead, back := wrongBy(2*time.Hour), wrongBy(-4*time.Hour)
	f.join(t, quickLease, ahead.machine)
	f.join(t, quickLease, back.machine)
	live := []yurt.Session{f.idleAt(t, f.members[0], time.Hour), f.idleAt(t, f.members[1], time.Hour)}
	if apart := live[1].CreatedAt.Sub(live[0].CreatedAt).Abs(); apart > time.Minute {
		t.Errorf("sessions that were made one after the other are %s apart", apart)
	}
	f.wantTimely(t, live...)
	ahead.jump(5 * time.Hour)
	back.jump(-5 * time.Hour)
	f.wantTimely(t, live...)
	for _, by := range []time.Duration{3 * time.Hour, -3 * time.Hour} {
		f.join(t, quickLease, wrongBy(by).machine)
		f.onlyLast()
		f.wantTimely(t, live...)
	}
}

// testStoreClockJumps: what the clock of the store's machine is set to shows in no session
// either, also not to a controller that begins after it was.
func testStoreClockJumps(t *testing.T, url string) {
	f := newFleet(t, url, 0, quickLease)
	if os.Getenv(setsClockEnv) != "" {
		t.Log("the machine's clock is set")
	}
	store, right := &wrong{}, &wrong{}
	f.join(t, quickLease, right.machine, store.of)
	f.join(t, quickLease, right.machine, store.of)
	live := []yurt.Session{f.idleAt(t, f.members[0], time.Hour), f.idleAt(t, f.members[1], time.Hour)}
	for _, by := range []time.Duration{2 * time.Hour, -4 * time.Hour} {
		before := time.Duration(store.by.Load())
		store.set(t, by)
		f.wantTimely(t, live...)
		want := time.Duration(store.by.Load())
		f.eventually("it is noted", func() bool {
			_, behind, err := f.members[0].store.StoreClock(t.Context())
			return err == nil && (behind-want).Abs() < time.Minute && (behind-before).Abs() > time.Hour
		})
		f.join(t, quickLease, right.machine, store.of)
		f.wantTimely(t, live...)
		f.onlyLast()
		f.wantTimely(t, live...)
	}
}
