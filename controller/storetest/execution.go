package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

// execution returns the n-th execution of a session: a second younger than the one
// before.
func execution(sessionID string, n int) yurt.Execution {
	return yurt.Execution{
		ID: fmt.Sprintf("%s%03d", yurt.ExecutionIDPrefix, n), SessionID: sessionID, Kind: yurt.KindCode, Language: "python",
		State: yurt.ExecutionRunning, CreatedAt: epoch().Add(time.Duration(n) * time.Second),
	}
}

func result() *yurt.Result {
	return &yurt.Result{
		ExitCode: 1, Stdout: "not UTF-8: \xff\x00", Stderr: "✓", Result: json.RawMessage(`{"n":1.50}`),
		Error:     &yurt.ExecutionError{Type: "ValueError", Message: "no", Stacktrace: []string{"line 1"}},
		Metrics:   yurt.Metrics{DurationMS: 1.5, CPUMS: 1, MemoryPeakBytes: 1 << 40, StdoutBytes: 9, Phases: map[string]float64{"run": 1}},
		Artifacts: []yurt.Artifact{{Path: "a.png", MIMEType: "image/png", Size: 3}},
		Truncated: yurt.Truncated{Stderr: true}, StartedAt: epoch(), EndedAt: epoch().Add(time.Second),
		Outline: yurt.Outline{1, 0, 255},
	}
}

// stay is the step of a session that stays as it is.
func stay(*yurt.Session, int) ([]yurt.Transition, error) { return nil, nil }

func mustBegin(t *testing.T, store contract.Store, e yurt.Execution) {
	t.Helper()
	if _, err := store.BeginExecution(t.Context(), e, stay); err != nil {
		t.Fatal("beginning an execution:", err)
	}
}

func testExecution(t *testing.T, store contract.Store) {
	ctx := t.Context()
	s := mustCreate(t, store, session(1))
	first, second := execution(s.ID, 1), execution(s.ID, 2)
	step := func(want int, to yurt.SessionState) contract.SessionChange {
		return func(s *yurt.Session, running int) ([]yurt.Transition, error) {
			if running != want {
				t.Errorf("%d executions run, want %d", running, want)
			}
			change, err := s.Transition(to, "step", epoch())
			return []yurt.Transition{change}, err
		}
	}
	begun, err := store.BeginExecution(ctx, first, step(1, yurt.SessionRunning))
	if err != nil || begun.State != yurt.SessionRunning {
		t.Fatalf("session is %s after the begin, error %v", begun.State, err)
	}
	got, err := store.Execution(ctx, s.ID, first.ID)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "running execution", got, first)

	refusal := errors.New("refused")
	_, err = store.BeginExecution(ctx, second, func(*yurt.Session, int) ([]yurt.Transition, error) { return nil, refusal })
	if !errors.Is(err, refusal) {
		t.Errorf("error %v, want the one of the change", err)
	}
	_, err = store.Execution(ctx, s.ID, second.ID)
	wantCode(t, err, yurt.CodeExecutionNotFound)

	ready, ended, err := store.EndExecution(ctx, first.ID, result(), step(0, yurt.SessionReady))
	if err != nil || !ended || ready.State != yurt.SessionReady {
		t.Fatalf("session is %s after the end (%v), error %v", ready.State, ended, err)
	}
	got, err = store.Execution(ctx, s.ID, first.ID)
	if err != nil {
		t.Fatal(err)
	}
	first.State, first.Result = yurt.ExecutionFailed, result()
	wantEqual(t, "ended execution", got, first)
	_, err = store.Execution(ctx, "ses_other", first.ID)
	wantCode(t, err, yurt.CodeExecutionNotFound)
}

func testFirstResult(t *testing.T, store contract.Store) {
	s := mustCreate(t, store, session(1))
	e := execution(s.ID, 1)
	mustBegin(t, store, e)
	if _, _, err := store.EndExecution(t.Context(), e.ID, result(), stay); err != nil {
		t.Fatal(err)
	}
	_, ended, err := store.EndExecution(t.Context(), e.ID, &yurt.Result{Stdout: "second"}, func(*yurt.Session, int) ([]yurt.Transition, error) {
		t.Error("a second end moved the session on")
		return nil, nil
	})
	if ended || err != nil {
		t.Errorf("a second end counted (%v), error %v", ended, err)
	}
	got, err := store.Execution(t.Context(), s.ID, e.ID)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "result", got.Result, result())
}

func testExecutions(t *testing.T, store contract.Store) {
	ctx := t.Context()
	s, other := mustCreate(t, store, session(1)), mustCreate(t, store, session(2))
	for n := range 4 {
		mustBegin(t, store, execution(s.ID, n))
	}
	mustBegin(t, store, execution(other.ID, 9))
	if _, _, err := store.EndExecution(ctx, execution(s.ID, 2).ID, result(), stay); err != nil {
		t.Fatal(err)
	}
	ids := func(list []yurt.Execution, err error) []string {
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, e := range list {
			if e.Result != nil {
				t.Error("a list carries results")
			}
			ids = append(ids, e.ID)
		}
		return ids
	}
	wantEqual(t, "first page", ids(store.Executions(ctx, s.ID, contract.ExecutionQuery{Limit: 3})), []string{"exe_003", "exe_002", "exe_001"})
	before := execution(s.ID, 1)
	wantEqual(t, "second page", ids(store.Executions(ctx, s.ID, contract.ExecutionQuery{Before: contract.Position{CreatedAt: before.CreatedAt, ID: before.ID}, Limit: 3})), []string{"exe_000"})
	testExecutionFilters(t, func(query contract.ExecutionQuery) []string { return ids(store.Executions(ctx, s.ID, query)) })
	if got := len(ids(store.UnfinishedExecutions(ctx, s.ID))); got != 3 {
		t.Errorf("%d executions of the session are unfinished, want 3", got)
	}
	if got := len(ids(store.UnfinishedExecutions(ctx, ""))); got != 4 {
		t.Errorf("%d executions are unfinished, want 4", got)
	}
	latest, err := store.LatestExecution(ctx, s.ID)
	if err != nil || latest.ID != "exe_003" {
		t.Errorf("the latest execution is %q, error %v", latest.ID, err)
	}
}

// testExecutionFilters lists four executions, of which the third has failed.
func testExecutionFilters(t *testing.T, list func(contract.ExecutionQuery) []string) {
	at := func(n int) time.Time { return execution("", n).CreatedAt }
	long := time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) // beyond the nanoseconds that a database keeps
	for _, test := range []struct {
		name  string
		query contract.ExecutionQuery
		want  []string
	}{
		{"state", contract.ExecutionQuery{State: yurt.ExecutionFailed}, []string{"exe_002"}},
		{"other state", contract.ExecutionQuery{State: execution("", 0).State, Limit: 2}, []string{"exe_003", "exe_001"}},
		{"language", contract.ExecutionQuery{Language: execution("", 0).Language, Limit: 1}, []string{"exe_003"}},
		{"no such language", contract.ExecutionQuery{Language: "cobol"}, nil},
		{"no such kind", contract.ExecutionQuery{Kind: "other"}, nil},
		{"period", contract.ExecutionQuery{Created: contract.Period{Since: at(1), Until: at(3)}}, []string{"exe_002", "exe_001"}},
		{"long period", contract.ExecutionQuery{Created: contract.Period{Since: long.AddDate(-9998, 0, 0), Until: long}, Limit: 1}, []string{"exe_003"}},
		{"too late", contract.ExecutionQuery{Created: contract.Period{Since: long}}, nil},
	} {
		wantEqual(t, test.name, list(test.query), test.want)
	}
}

func testExpiry(t *testing.T, store contract.Store) {
	ctx := t.Context()
	if next, err := store.NextExpiry(ctx); !next.IsZero() || err != nil {
		t.Errorf("an empty store expires at %v, error %v", next, err)
	}
	first, second := session(1), session(2)
	first.Timeout, second.IdleTimeout = yurt.Duration(2*time.Minute), yurt.Duration(time.Minute)
	creating, ended := session(3), session(4)
	creating.State = yurt.SessionCreating
	at := epoch()
	ended.State, ended.EndedAt = yurt.SessionTerminated, &at
	for _, s := range []yurt.Session{first, second, creating, ended} {
		mustCreate(t, store, s)
	}
	soonest, _ := second.Expiry()
	if next, err := store.NextExpiry(ctx); !next.Equal(soonest) || err != nil {
		t.Errorf("the next expiry is %v, want %v, error %v", next, soonest, err)
	}
	expired := func(at time.Time, limit int) []string {
		list, err := store.ExpiredSessions(ctx, at, limit)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, s := range list {
			ids = append(ids, s.ID)
		}
		return ids
	}
	wantEqual(t, "expired before the first", expired(soonest.Add(-1), 9), nil)
	wantEqual(t, "expired at the first", expired(soonest, 9), []string{second.ID})
	wantEqual(t, "expired in the end", expired(epoch().Add(time.Hour), 9), []string{second.ID, first.ID})
	wantEqual(t, "expired with a limit", expired(epoch().Add(time.Hour), 1), []string{second.ID})
	if _, err := store.ChangeSession(ctx, second.ID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		s.ActiveAt = s.ActiveAt.Add(time.Hour)
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "expired after a use", expired(epoch().Add(time.Hour), 9), []string{first.ID})
	wantEqual(t, "expired long after it", expired(epoch().Add(9*time.Hour), 9), []string{first.ID, second.ID})
	if _, err := store.ChangeSession(ctx, second.ID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		s.IdleTimeout = yurt.Duration(time.Second)
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.ChangeSession(ctx, first.ID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		change, err := s.Transition(yurt.SessionTerminated, "done", epoch())
		return []yurt.Transition{change}, err
	}); err != nil {
		t.Fatal(err)
	}
	soonest = second.ActiveAt.Add(time.Hour + time.Second)
	if next, err := store.NextExpiry(ctx); !next.Equal(soonest) || err != nil {
		t.Errorf("the next expiry is %v, want %v, error %v", next, soonest, err)
	}
}

func testPurge(t *testing.T, store contract.Store) {
	ctx := t.Context()
	for n := range 3 {
		s := session(n)
		if n < 2 {
			at := epoch().Add(time.Duration(n) * time.Hour)
			s.State, s.EndedAt = yurt.SessionTerminated, &at
		}
		key := &contract.IdempotencyKey{Key: s.ID, SessionID: s.ID}
		if err := store.CreateSession(ctx, s, yurt.Transition{To: s.State, At: s.CreatedAt}, key); err != nil {
			t.Fatal(err)
		}
		mustBegin(t, store, execution(s.ID, n))
	}
	if n, err := store.PurgeSessions(ctx, epoch().Add(time.Minute)); n != 1 || err != nil {
		t.Fatalf("%d sessions were purged, want 1, error %v", n, err)
	}
	gone := session(0).ID
	_, err := store.Session(ctx, gone)
	wantCode(t, err, yurt.CodeSessionNotFound)
	_, err = store.LatestExecution(ctx, gone)
	wantCode(t, err, yurt.CodeExecutionNotFound)
	if _, ok, err := store.SessionByKey(ctx, gone); ok || err != nil {
		t.Errorf("the key of a purged session is there (%v), error %v", ok, err)
	}
	if story, err := store.Transitions(ctx, gone, 0); len(story) != 0 || err != nil {
		t.Errorf("the story of a purged session is there (%v), error %v", story, err)
	}
	for n := 1; n < 3; n++ {
		if _, err := store.LatestExecution(ctx, session(n).ID); err != nil {
			t.Errorf("session %d lost its execution: %v", n, err)
		}
	}
}
