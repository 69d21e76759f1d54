package controller_test

import (
	"context"
	"os"
	"strings"
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

// wrong is a clock that differs from this machine's by a variable duration.
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

func (s jumpingStore) StoreClock(ctx context.Context) (time.Time, error) {
	now, err := s.Store.StoreClock(ctx)
	return now.Add(time.Duration(s.clock.by.Load())), err
}

// idleAt makes a session, at one of the controllers, that ends when it is idle for so long.
func (f *several) idleAt(t *testing.T, m *member, idle time.Duration) yurt.Session {
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

// wantTimely checks that an idle session ends in time, whichever controller made it, and that the live sessions go on.
func (f *several) wantTimely(t *testing.T, live ...yurt.Session) {
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

// wantWrong wants a controller to say that its clock is wrong, to refuse sessions and not to lead.
func (f *several) wantWrong(t *testing.T, m *member, direction string) {
	t.Helper()
	f.eventually("a controller says that its clock is "+direction+" the store's", func() bool {
		err := m.Ready(t.Context())
		return yurt.CodeOf(err) == yurt.CodeUnavailable && strings.Contains(err.Error(), direction+" the store's") && !m.Leads()
	})
	_, err := m.CreateSession(t.Context(), controller.CreateSessionRequest{TemplateID: "shell-basic"})
	if yurt.CodeOf(err) != yurt.CodeUnavailable || !strings.Contains(err.Error(), "NTP") {
		t.Errorf("a controller whose clock is wrong makes a session: %v", err)
	}
}

// testWrongClocks: a controller whose clock is wrong serves no requests and never leads, so that it ends no session of the
// others. It serves when its machine's clock has been set right.
func testWrongClocks(t *testing.T, url string) {
	f := newFleet(t, url, 0, quickLease)
	right := f.join(t, quickLease, wrongBy(0).machine)
	live := []yurt.Session{f.idleAt(t, right, time.Hour)}
	for by, direction := range map[time.Duration]string{2 * time.Hour: "ahead of", -4 * time.Hour: "behind"} {
		clock := wrongBy(by)
		wrong := f.begin(t, quickLease, clock.machine)
		f.wantWrong(t, wrong, direction)
		f.wantTimely(t, live...)
		right.stop()
		time.Sleep(2 * quickLease)
		f.wantWrong(t, wrong, direction)
		clock.jump(-by)
		f.eventually("it leads once its clock is right", func() bool { return wrong.Ready(t.Context()) == nil && wrong.Leads() })
		f.members, f.Controller, right = []*member{wrong}, wrong.Controller, wrong
		f.wantTimely(t, live...)
	}
}

// testStoreClockJumps: when the clock of the store's machine is set, with that of the controllers' or alone, no session
// ends. The controllers say so until the clocks agree again.
func testStoreClockJumps(t *testing.T, url string) {
	f := newFleet(t, url, 0, quickLease)
	if os.Getenv(setsClockEnv) != "" {
		t.Log("the machine's clock is set")
	}
	store, right := &wrong{}, &wrong{}
	f.join(t, quickLease, right.machine, store.of)
	f.join(t, quickLease, right.machine, store.of)
	live := []yurt.Session{f.idleAt(t, f.members[0], time.Hour), f.idleAt(t, f.members[1], time.Hour)}
	for by, direction := range map[time.Duration]string{2 * time.Hour: "behind", -4 * time.Hour: "ahead of"} {
		store.set(t, by)
		for _, m := range f.members {
			f.wantWrong(t, m, direction)
		}
		store.set(t, -by)
		f.eventually("the controllers are ready again", func() bool {
			return f.members[0].Ready(t.Context()) == nil && f.members[1].Ready(t.Context()) == nil
		})
		f.wantTimely(t, live...)
	}
}
