package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

// Run tests a store. open returns an empty one, closed by the test's cleanup.
func Run(t *testing.T, open func(t *testing.T) contract.Store) {
	tests := []struct {
		name string
		test func(t *testing.T, store contract.Store)
	}{
		{"sessions come back as they went in", testSession},
		{"what is missing has its code", testMissing},
		{"sessions are listed newest first and filtered", testSessions},
		{"a change is a transaction", testChange},
		{"concurrent changes do not lose each other", testConcurrentChanges},
		{"an idempotency key is used once", testIdempotencyKey},
		{"a create that fails frees its idempotency key", testKeyOfFailedCreate},
		{"of a reuse key there is one live session", testReuseKey},
		{"an execution moves its session on", testExecution},
		{"large output is stored in pieces", testLargeOutput},
		{"the environment goes with its session", testEnvironmentGoes},
		{"the oldest results lose their output to a quota", testTrimResults},
		{"the first result stays", testFirstResult},
		{"executions are listed newest first", testExecutions},
		{"what runs out is found in order", testExpiry},
		{"ended sessions are purged with all that is theirs", testPurge},
		{"templates", testTemplates},
		{"sizes of warm pools", testPools},
		{"a lease is taken by one", testLease},
		{"the store tells the time", testClock},
		{"an execution is given to one", testOwner},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.test(t, open(t)) })
	}
}

// epoch has nanoseconds, so that a store that drops them is noticed.
func epoch() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.UTC) }

// session returns the n-th session of a test: a second younger than the one before.
func session(n int) yurt.Session {
	at := epoch().Add(time.Duration(n) * time.Second)
	return yurt.Session{
		ID: fmt.Sprintf("%s%03d", yurt.SessionIDPrefix, n), TemplateID: "shell-basic", Mode: yurt.ModePersistent,
		State: yurt.SessionReady, Reason: "its sandbox is ready", Resources: yurt.DefaultResources(),
		Timeout: yurt.Duration(yurt.DefaultLifetime), IdleTimeout: yurt.Duration(yurt.DefaultIdleTimeout),
		Placement: yurt.Placement{Kind: yurt.PlacementCold, Node: "local"}, SandboxID: yurt.NewSandboxID(),
		CreatedAt: at, UpdatedAt: at, ActiveAt: at,
	}
}

func mustCreate(t *testing.T, store contract.Store, s yurt.Session) yurt.Session {
	t.Helper()
	first := yurt.Transition{To: s.State, Reason: s.Reason, At: s.CreatedAt}
	if err := store.CreateSession(t.Context(), s, first, nil); err != nil {
		t.Fatal("creating a session:", err)
	}
	return s
}

func wantCode(t *testing.T, err error, code yurt.Code) {
	t.Helper()
	if yurt.CodeOf(err) != code {
		t.Errorf("error %v has code %q, want %q", err, yurt.CodeOf(err), code)
	}
}

func wantEqual[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}

func testSession(t *testing.T, store contract.Store) {
	whole := session(1)
	whole.AgentID, whole.Metadata = "agent", map[string]string{"team": "a\"b\\'%_", "ünï": "✓"}
	whole.Env = map[string]string{"TOKEN": "secret\x01"}
	whole.Tenant = "acme"
	whole.Owner, whole.ReuseKey, whole.HasFiles = "ctl_a", "reuse", true
	whole.Resources.CPU = 0.25
	whole.Resources.DiskKind, whole.Resources.IOWeight = yurt.DiskImage, 7
	whole.Resources.Ulimits = yurt.Ulimits{NoFile: 64, FSize: 1 << 20, Stack: 1 << 20}
	whole.Placement.Phases = map[string]float64{"create": 1.5}
	ended := epoch().Add(time.Hour)
	whole.State, whole.EndedAt, whole.EndsBy = yurt.SessionFailed, &ended, &ended
	for _, want := range []yurt.Session{whole, session(2)} {
		mustCreate(t, store, want)
		got, err := store.Session(t.Context(), want.ID)
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, "session", got, want)
	}
	if err := store.Ping(t.Context()); err != nil {
		t.Error("ping:", err)
	}
}

func testMissing(t *testing.T, store contract.Store) {
	ctx := t.Context()
	none := func(*yurt.Session, int) ([]yurt.Transition, error) {
		t.Error("a change of a missing session was called")
		return nil, nil
	}
	_, err := store.Session(ctx, "ses_none")
	wantCode(t, err, yurt.CodeSessionNotFound)
	_, err = store.ChangeSession(ctx, "ses_none", none)
	wantCode(t, err, yurt.CodeSessionNotFound)
	_, err = store.BeginExecution(ctx, yurt.Execution{ID: "exe_a", SessionID: "ses_none"}, none)
	wantCode(t, err, yurt.CodeSessionNotFound)
	_, _, err = store.EndExecution(ctx, "exe_none", &yurt.Result{}, none)
	wantCode(t, err, yurt.CodeExecutionNotFound)
	s := mustCreate(t, store, session(1))
	_, err = store.Execution(ctx, s.ID, "exe_none")
	wantCode(t, err, yurt.CodeExecutionNotFound)
	_, err = store.LatestExecution(ctx, s.ID)
	wantCode(t, err, yurt.CodeExecutionNotFound)
	_, err = store.Template(ctx, "none")
	wantCode(t, err, yurt.CodeTemplateNotFound)
}

func testSessions(t *testing.T, store contract.Store) {
	var all []yurt.Session
	for n := range 6 {
		s := session(n)
		if n%2 == 1 {
			s.AgentID, s.TemplateID, s.Tenant = "odd", "python-basic", "acme"
			s.Metadata = map[string]string{"parity": "odd", "n": fmt.Sprint(n)}
		}
		if n == 5 { // as old as the one before: then the id decides
			s.CreatedAt = all[4].CreatedAt
		}
		if n == 0 {
			ended := epoch()
			s.State, s.EndedAt = yurt.SessionTerminated, &ended
		}
		all = append(all, mustCreate(t, store, s))
	}
	tests := []struct {
		name  string
		query contract.SessionQuery
		want  []int
	}{
		{"all", contract.SessionQuery{}, []int{5, 4, 3, 2, 1, 0}},
		{"limit", contract.SessionQuery{Limit: 2}, []int{5, 4}},
		{"next page", contract.SessionQuery{Limit: 2, Before: position(all[5])}, []int{4, 3}},
		{"id", contract.SessionQuery{IDPrefix: all[3].ID}, []int{3}},
		{"prefix of all", contract.SessionQuery{IDPrefix: yurt.SessionIDPrefix}, []int{5, 4, 3, 2, 1, 0}},
		{"prefix of none", contract.SessionQuery{IDPrefix: "sesX"}, nil},
		{"template", contract.SessionQuery{TemplateID: "python-basic"}, []int{5, 3, 1}},
		{"state", contract.SessionQuery{State: yurt.SessionTerminated}, []int{0}},
		{"tenant", contract.SessionQuery{Tenant: "acme", Limit: 2}, []int{5, 3}},
		{"no such tenant", contract.SessionQuery{Tenant: "other"}, nil},
		{"live", contract.SessionQuery{Live: true}, []int{5, 4, 3, 2, 1}},
		{"period", contract.SessionQuery{Created: contract.Period{Since: all[1].CreatedAt, Until: all[3].CreatedAt}}, []int{2, 1}},
		{"agent", contract.SessionQuery{AgentID: "odd", Before: position(all[3])}, []int{1}},
		{"metadata", contract.SessionQuery{Metadata: map[string]string{"parity": "odd", "n": "3"}}, []int{3}},
		{"no such metadata", contract.SessionQuery{Metadata: map[string]string{"parity": "even"}}, nil},
	}
	for _, test := range tests {
		list, err := store.Sessions(t.Context(), test.query)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		var got []int
		for _, s := range list {
			got = append(got, slices.IndexFunc(all, func(have yurt.Session) bool { return have.ID == s.ID }))
		}
		wantEqual(t, test.name, got, test.want)
	}
	counts, err := store.CountSessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "counts", counts, map[yurt.SessionState]int{yurt.SessionReady: 5, yurt.SessionTerminated: 1})
}

func position(s yurt.Session) contract.Position {
	return contract.Position{CreatedAt: s.CreatedAt, ID: s.ID}
}

func testChange(t *testing.T, store contract.Store) {
	ctx := t.Context()
	s := mustCreate(t, store, session(1))
	at := epoch().Add(time.Minute)
	changed, err := store.ChangeSession(ctx, s.ID, func(s *yurt.Session, running int) ([]yurt.Transition, error) {
		if running != 0 {
			t.Errorf("%d executions run, want none", running)
		}
		change, err := s.Transition(yurt.SessionTerminated, "done", at)
		s.Placement.Node, s.SandboxID, s.ActiveAt, s.Owner = "other", "sbx_other", at, "ctl_b"
		s.Timeout, s.IdleTimeout, s.EndsBy, s.HasFiles = s.Timeout+1, s.IdleTimeout+1, &at, true
		return []yurt.Transition{change}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := store.Session(ctx, s.ID)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "stored session", stored, changed)
	if stored.State != yurt.SessionTerminated || stored.Placement.Node != "other" || stored.EndedAt == nil || !stored.EndedAt.Equal(at) {
		t.Errorf("the change was not stored: %+v", stored)
	}
	refusal := errors.New("refused")
	_, err = store.ChangeSession(ctx, s.ID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		s.Reason = "never"
		return []yurt.Transition{{To: yurt.SessionFailed}}, refusal
	})
	if !errors.Is(err, refusal) {
		t.Errorf("error %v, want the one of the change", err)
	}
	after, err := store.Session(ctx, s.ID)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "session after a refused change", after, stored)
	story, err := store.Transitions(ctx, s.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "story", story, []yurt.Transition{
		{To: yurt.SessionReady, Reason: "its sandbox is ready", At: s.CreatedAt},
		{From: yurt.SessionReady, To: yurt.SessionTerminated, Reason: "done", At: at},
	})
	for after := range 4 {
		rest, err := store.Transitions(ctx, s.ID, after)
		if want := story[min(after, len(story)):]; err != nil || !slices.Equal(rest, want) {
			t.Errorf("the story after %d transitions is %+v, error %v; want %+v", after, rest, err, want)
		}
	}
}

func testConcurrentChanges(t *testing.T, store contract.Store) {
	const clients, each = 20, 5
	s := mustCreate(t, store, session(1))
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for range each {
				_, err := store.ChangeSession(context.WithoutCancel(t.Context()), s.ID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
					s.IdleTimeout++
					return nil, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	after, err := store.Session(t.Context(), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if want := s.IdleTimeout + clients*each; after.IdleTimeout != want {
		t.Errorf("%d of %d changes were lost", want-after.IdleTimeout, clients*each)
	}
}

// createWithKey adds a session of the state, with an idempotency key.
func createWithKey(t *testing.T, store contract.Store, n int, state yurt.SessionState, key string) yurt.Session {
	t.Helper()
	s := session(n)
	s.State = state
	err := store.CreateSession(t.Context(), s, yurt.Transition{To: s.State, At: s.CreatedAt}, &contract.IdempotencyKey{Key: key, SessionID: s.ID})
	if err != nil {
		t.Fatal("creating a session:", err)
	}
	return s
}

// testKeyOfFailedCreate: the key of a session that ends before it is ready serves another session. Any other session keeps its key.
func testKeyOfFailedCreate(t *testing.T, store contract.Store) {
	for n, test := range []struct {
		steps []yurt.SessionState
		freed bool
	}{
		{[]yurt.SessionState{yurt.SessionTerminated}, true},
		{[]yurt.SessionState{yurt.SessionFailed}, true},
		{[]yurt.SessionState{yurt.SessionReady}, false},
		{[]yurt.SessionState{yurt.SessionReady, yurt.SessionTerminated}, false},
	} {
		key := fmt.Sprint("key", n)
		s := createWithKey(t, store, 2*n, yurt.SessionCreating, key)
		for _, state := range test.steps {
			_, err := store.ChangeSession(t.Context(), s.ID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
				change, err := s.Transition(state, "tested", epoch())
				return []yurt.Transition{change}, err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, kept, err := store.SessionByKey(t.Context(), key); err != nil || kept == test.freed {
			t.Errorf("after the steps %q the session has its key: %t, error %v; want %t", test.steps, kept, err, !test.freed)
		}
		if test.freed {
			createWithKey(t, store, 2*n+1, yurt.SessionReady, key)
		}
	}
}

func testIdempotencyKey(t *testing.T, store contract.Store) {
	ctx := t.Context()
	if _, ok, err := store.SessionByKey(ctx, "key"); ok || err != nil {
		t.Errorf("an unused key was found (%v), error %v", ok, err)
	}
	create := func(n int) error {
		s := session(n)
		return store.CreateSession(ctx, s, yurt.Transition{To: s.State, At: s.CreatedAt}, &contract.IdempotencyKey{Key: "key", RequestHash: fmt.Sprint(n), SessionID: s.ID})
	}
	if err := create(1); err != nil {
		t.Fatal(err)
	}
	if err := create(2); !errors.Is(err, contract.ErrKeyTaken) {
		t.Errorf("a second use gives %v, want ErrKeyTaken", err)
	}
	_, err := store.Session(ctx, session(2).ID)
	wantCode(t, err, yurt.CodeSessionNotFound)
	found, ok, err := store.SessionByKey(ctx, "key")
	if err != nil || !ok {
		t.Fatalf("the key was not found (%v), error %v", ok, err)
	}
	wantEqual(t, "key", found, contract.IdempotencyKey{Key: "key", RequestHash: "1", SessionID: session(1).ID})
}
