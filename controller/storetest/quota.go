package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/quota"
)

// RunQuotas tests the quotas of a store of sessions. open returns an empty one, closed by the test's cleanup.
func RunQuotas(t *testing.T, open func(t *testing.T) (contract.Store, quota.Store)) {
	tests := []struct {
		name string
		test func(t *testing.T, sessions contract.Store, quotas quota.Store)
	}{
		{"quotas come back as they were set", testQuotas},
		{"use adds up", testUsage},
		{"each quota of sessions holds", testSessionQuotas},
		{"the quota of executions holds", testExecutionQuota},
		{"concurrent creates stay within the quota", testConcurrentQuota},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			sessions, quotas := open(t)
			test.test(t, sessions, quotas)
		})
	}
}

func some[T any](value T) *T { return &value }

func setQuotas(t *testing.T, store quota.Store, tenant string, quotas access.Quotas) {
	t.Helper()
	if err := store.SetQuotas(t.Context(), tenant, quotas); err != nil {
		t.Fatal("setting quotas:", err)
	}
}

func testQuotas(t *testing.T, _ contract.Store, store quota.Store) {
	all := access.Quotas{
		Sessions: some(1), CreatesPerMinute: some(2), CPU: some(0.5), Memory: some(yurt.Size(3)), Disk: some(yurt.Size(4)),
		Executions: some(0), Storage: some(yurt.Size(5)),
	}
	setQuotas(t, store, "b", all)
	setQuotas(t, store, "a", access.Quotas{CPU: some(1.0)})
	setQuotas(t, store, "a", access.Quotas{Sessions: some(7)})
	for tenant, want := range map[string]access.Quotas{"b": all, "a": {Sessions: some(7)}, "c": {}} {
		got, err := store.Quotas(t.Context(), tenant)
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, "the quotas of "+tenant, got, want)
	}
	for after, want := range map[string][]string{"": {"a", "b"}, "a": {"b"}, "b": nil} {
		got, err := store.TenantNames(t.Context(), after, 10)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("the tenants after %q are %v, error %v, want %v", after, got, err, want)
		}
	}
}

// of returns the n-th session, of a tenant, with a core, 100 bytes of memory and 10 of disk.
func of(tenant string, n int) yurt.Session {
	s := session(n)
	s.Tenant = tenant
	s.Resources.CPU, s.Resources.Memory, s.Resources.Disk = 0.1, 100, 10
	return s
}

func create(ctx context.Context, store contract.Store, s yurt.Session) error {
	return store.CreateSession(ctx, s, yurt.Transition{To: s.State, At: s.CreatedAt}, nil)
}

func end(t *testing.T, store contract.Store, id string) {
	t.Helper()
	_, err := store.ChangeSession(t.Context(), id, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		change, err := s.Transition(yurt.SessionTerminated, "over", s.CreatedAt)
		return []yurt.Transition{change}, err
	})
	if err != nil {
		t.Fatal("ending a session:", err)
	}
}

func begin(t *testing.T, store contract.Store, sessionID, id string) error {
	t.Helper()
	_, err := store.BeginExecution(t.Context(), yurt.Execution{ID: id, SessionID: sessionID, Kind: yurt.KindCommand, State: yurt.ExecutionRunning, CreatedAt: epoch()},
		func(*yurt.Session, int) ([]yurt.Transition, error) { return nil, nil })
	return err
}

func finish(t *testing.T, store contract.Store, id string) {
	t.Helper()
	_, _, err := store.EndExecution(t.Context(), id, &yurt.Result{Stdout: "some output"}, func(*yurt.Session, int) ([]yurt.Transition, error) { return nil, nil })
	if err != nil {
		t.Fatal("ending an execution:", err)
	}
}

func testUsage(t *testing.T, sessions contract.Store, store quota.Store) {
	for n := range 3 {
		mustCreate(t, sessions, of("a", n))
	}
	mustCreate(t, sessions, of("b", 9))
	end(t, sessions, of("a", 2).ID)
	for n := range 2 {
		if err := begin(t, sessions, of("a", 0).ID, fmt.Sprintf("exe_%d", n)); err != nil {
			t.Fatal(err)
		}
	}
	finish(t, sessions, "exe_1")
	got, err := store.Usage(t.Context(), "a", of("a", 2).CreatedAt)
	if err != nil {
		t.Fatal(err)
	}
	if got.Storage <= 0 {
		t.Errorf("a result takes %d bytes", got.Storage)
	}
	got.Storage = 0
	wantEqual(t, "the use", got, access.Usage{Sessions: 2, CreatesPerMinute: 3, CPU: 0.2, Memory: 200, Disk: 20, Executions: 1})
	later, err := store.Usage(t.Context(), "a", of("a", 2).CreatedAt.Add(quota.Window))
	if err != nil || later.CreatesPerMinute != 0 || later.Sessions != 2 {
		t.Errorf("a minute later the use is %+v, error %v", later, err)
	}
	if none, err := store.Usage(t.Context(), "c", epoch()); err != nil || none != (access.Usage{}) {
		t.Errorf("a tenant without sessions uses %+v, error %v", none, err)
	}
}

func testSessionQuotas(t *testing.T, sessions contract.Store, store quota.Store) {
	tests := []struct {
		name   string
		quotas access.Quotas
		used   float64
		freed  bool // by the end of a session
	}{
		{"sessions", access.Quotas{Sessions: some(2)}, 2, true},
		{"creates_per_minute", access.Quotas{CreatesPerMinute: some(2)}, 2, false},
		{"cpu", access.Quotas{CPU: some(0.2)}, 0.2, true},
		{"memory", access.Quotas{Memory: some(yurt.Size(299))}, 200, true},
		{"disk", access.Quotas{Disk: some(yurt.Size(20))}, 20, true},
	}
	for i, test := range tests {
		tenant, n := fmt.Sprintf("tenant-%d", i), 10*i
		setQuotas(t, store, tenant, test.quotas)
		mustCreate(t, sessions, of(tenant, n))
		mustCreate(t, sessions, of(tenant, n+1))
		err := create(t.Context(), sessions, of(tenant, n+2))
		wantCode(t, err, yurt.CodeQuotaExceeded)
		refused := asQuota(err)
		if refused == nil || refused.Quota.Name != test.name || refused.Quota.Used != test.used || refused.RetryAfter < time.Second || refused.RetryAfter > time.Minute {
			t.Errorf("%s: the error is %+v", test.name, refused)
		}
		end(t, sessions, of(tenant, n).ID)
		if err := create(t.Context(), sessions, of(tenant, n+3)); (err == nil) != test.freed {
			t.Errorf("%s: after the end of a session: %v", test.name, err)
		}
		mustCreate(t, sessions, of("other", n+4))
	}
}

func asQuota(err error) *yurt.Error {
	refused, is := err.(*yurt.Error) //nolint:errorlint // the store returns it as it is
	if !is || refused.Quota == nil {
		return nil
	}
	return refused
}

func testExecutionQuota(t *testing.T, sessions contract.Store, store quota.Store) {
	setQuotas(t, store, "a", access.Quotas{Executions: some(2)})
	first, second := mustCreate(t, sessions, of("a", 1)), mustCreate(t, sessions, of("a", 2))
	for i, s := range []yurt.Session{first, second} {
		if err := begin(t, sessions, s.ID, fmt.Sprintf("exe_%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	err := begin(t, sessions, second.ID, "exe_2")
	wantCode(t, err, yurt.CodeQuotaExceeded)
	if refused := asQuota(err); refused == nil || refused.Quota.Name != "executions" {
		t.Errorf("the error is %+v", refused)
	}
	finish(t, sessions, "exe_0")
	if err := begin(t, sessions, second.ID, "exe_3"); err != nil {
		t.Error("after one has ended:", err)
	}
	other := mustCreate(t, sessions, of("b", 3))
	if err := begin(t, sessions, other.ID, "exe_4"); err != nil {
		t.Error("of another tenant:", err)
	}
}

func testConcurrentQuota(t *testing.T, sessions contract.Store, store quota.Store) {
	const most, tries = 10, 100
	setQuotas(t, store, "a", access.Quotas{Sessions: some(most)})
	var made atomic.Int32
	var group sync.WaitGroup
	for n := range tries {
		group.Go(func() {
			switch err := create(t.Context(), sessions, of("a", n)); yurt.CodeOf(err) {
			case "":
				made.Add(1)
			case yurt.CodeQuotaExceeded:
			default:
				t.Error(err)
			}
		})
	}
	group.Wait()
	if used, err := store.Usage(t.Context(), "a", epoch()); err != nil || used.Sessions != most || made.Load() != most {
		t.Errorf("%d creates succeeded, and %d sessions live, error %v; want %d", made.Load(), used.Sessions, err, most)
	}
}
