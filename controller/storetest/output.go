package storetest

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

// testLargeOutput stores output in several pieces, and reads it from any offset on.
func testLargeOutput(t *testing.T, store contract.Store) {
	s := mustCreate(t, store, session(1))
	e := execution(s.ID, 1)
	mustBegin(t, store, e)
	want := result()
	want.Stdout, want.Stderr = strings.Repeat("0123456789", 70_000), strings.Repeat("\x00", 3)
	if _, ended, err := store.EndExecution(t.Context(), e.ID, want, stay); err != nil || !ended {
		t.Fatal("ending it:", ended, err)
	}
	got, err := store.Execution(t.Context(), s.ID, e.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got.Result.Stdout != "" || got.Result.OutputBytes(yurt.EventStdout) != 700_000 || got.Result.OutputBytes(yurt.EventStderr) != 3 {
		t.Fatalf("the result has %d bytes in it, and says that %d and %d are apart", len(got.Result.Stdout), got.Result.OutputBytes(yurt.EventStdout), got.Result.OutputBytes(yurt.EventStderr))
	}
	for _, from := range []int64{0, 1, 262_144, 699_999, 700_000} {
		source, err := got.Result.OpenOutput(t.Context(), yurt.EventStdout, from)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(source); err != nil || string(text) != want.Stdout[from:] {
			t.Errorf("from %d come %d bytes, %v", from, len(text), err)
		}
	}
	whole, err := got.Result.Whole(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "result", whole, want)
	if _, err := store.PurgeSessions(t.Context(), epoch().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
}

// testTrimResults keeps the newest results, says of the older ones that they were trimmed, and deletes all of a session.
func testTrimResults(t *testing.T, store contract.Store) {
	sizes := []int{10_000, 500_000, 300_000} // the oldest first
	s := mustCreate(t, store, session(1))
	var ids []string
	for i, size := range sizes {
		e := execution(s.ID, i+1)
		mustBegin(t, store, e)
		r := result()
		r.Stdout, r.Metrics.StdoutBytes = strings.Repeat("x", size), int64(size)
		if _, _, err := store.EndExecution(t.Context(), e.ID, r, stay); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, e.ID)
	}
	if n, err := store.TrimResults(t.Context(), s.ID, 1<<20); err != nil || n != 0 {
		t.Fatalf("within the quota %d results were trimmed, error %v", n, err)
	}
	if n, err := store.TrimResults(t.Context(), "", 700_000); err != nil || n != 2 {
		t.Fatalf("%d results were trimmed, error %v; want 2", n, err)
	}
	for i, id := range ids {
		wantTrimmed(t, store, s.ID, id, sizes[i], i < len(ids)-1)
	}
	if n, err := store.TrimResults(t.Context(), s.ID, 700_000); err != nil || n != 0 {
		t.Errorf("%d results were trimmed again, error %v", n, err)
	}
	if err := store.DeleteResults(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	if list, err := store.Executions(t.Context(), s.ID, contract.ExecutionQuery{}); err != nil || len(list) != 0 {
		t.Errorf("%d executions are left, error %v", len(list), err)
	}
}

// wantTrimmed expects a result without its output, or with all of its bytes.
func wantTrimmed(t *testing.T, store contract.Store, sessionID, id string, size int, trimmed bool) {
	t.Helper()
	e, err := store.Execution(t.Context(), sessionID, id)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := e.Result.Whole(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if (len(whole.Stdout) == size) == trimmed || whole.Truncated.Stdout != trimmed || whole.ExitCode != result().ExitCode {
		t.Errorf("result %s: %d bytes, truncated %+v, exit code %d", id, len(whole.Stdout), whole.Truncated, whole.ExitCode)
	}
}

// testEnvironmentGoes: the environment of a session, which may have secrets, is not kept once it has ended.
func testEnvironmentGoes(t *testing.T, store contract.Store) {
	s := session(1)
	s.Env = map[string]string{"TOKEN": "secret"}
	s = mustCreate(t, store, s)
	_, err := store.ChangeSession(t.Context(), s.ID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		change, err := s.Transition(yurt.SessionTerminated, "test", epoch().Add(time.Second))
		return []yurt.Transition{change}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := store.Session(t.Context(), s.ID); err != nil || len(got.Env) != 0 {
		t.Errorf("the session that has ended has the environment %q, error %v", got.Env, err)
	}
}
