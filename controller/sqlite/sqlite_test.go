package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/audit"
	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/meter"
	"github.com/yurtrun/yurt/controller/once"
	"github.com/yurtrun/yurt/controller/quota"
	"github.com/yurtrun/yurt/controller/sqlite"
	"github.com/yurtrun/yurt/controller/storetest"
)

func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error("closing the store:", err)
		}
	})
	return store
}

func someSession() yurt.Session {
	now := time.Now()
	return yurt.Session{
		ID: yurt.NewSessionID(), TemplateID: "python-basic", Mode: yurt.ModePersistent, State: yurt.SessionReady,
		Reason: "its sandbox is ready", Resources: yurt.DefaultResources(), Timeout: yurt.Duration(yurt.DefaultLifetime),
		IdleTimeout: yurt.Duration(yurt.DefaultIdleTimeout), SandboxID: yurt.NewSandboxID(),
		Placement: yurt.Placement{Kind: yurt.PlacementWarm, Node: "local"}, CreatedAt: now, UpdatedAt: now, ActiveAt: now,
	}
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) contract.Store { return open(t, filepath.Join(t.TempDir(), "yurt.db")) })
}

func TestKeyConformance(t *testing.T) {
	storetest.RunKeys(t, func(t *testing.T) auth.Store { return sqlite.Keys(open(t, filepath.Join(t.TempDir(), "yurt.db"))) })
}

func TestAuditConformance(t *testing.T) {
	storetest.RunAudit(t, func(t *testing.T) (audit.Store, func(context.Context, string) error) {
		path := filepath.Join(t.TempDir(), "yurt.db")
		store := open(t, path)
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return sqlite.Audit(store), func(ctx context.Context, text string) error {
			_, err := db.ExecContext(ctx, text)
			return err
		}
	})
}

func TestSampleConformance(t *testing.T) {
	storetest.RunSamples(t, func(t *testing.T) meter.Store { return sqlite.Samples(open(t, filepath.Join(t.TempDir(), "yurt.db"))) })
}

func TestRequestConformance(t *testing.T) {
	storetest.RunRequests(t, func(t *testing.T) once.Store { return sqlite.Requests(open(t, filepath.Join(t.TempDir(), "yurt.db"))) })
}

func TestQuotaConformance(t *testing.T) {
	storetest.RunQuotas(t, func(t *testing.T) (contract.Store, quota.Store) {
		store := open(t, filepath.Join(t.TempDir(), "yurt.db"))
		return store, sqlite.Quotas(store)
	})
}

// TestReopen opens a copy of an open store's files, as a kill leaves them.
func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a ?#% name.db")
	first := open(t, path)
	if err := first.PutTemplates(t.Context(), []yurt.Template{{Name: "kept"}}, nil); err != nil {
		t.Fatal(err)
	}
	left := t.TempDir()
	if err := os.CopyFS(left, os.DirFS(filepath.Dir(path))); err != nil {
		t.Fatal(err)
	}
	second := open(t, filepath.Join(left, filepath.Base(path)))
	if _, err := second.Template(t.Context(), "kept"); err != nil {
		t.Error("after opening again:", err)
	}
}

func TestOneProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "yurt.db")
	first, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), "another process has it open") {
		t.Errorf("a file that is open was opened again: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path)
}

// TestCallerLeaves: one caller leaves while it waits for its turn, another while its transaction is carried out.
func TestCallerLeaves(t *testing.T) {
	store := open(t, filepath.Join(t.TempDir(), "yurt.db"))
	s := someSession()
	if err := store.CreateSession(t.Context(), s, yurt.Transition{To: s.State, At: s.CreatedAt}, nil); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	_, err := store.ChangeSession(ctx, s.ID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		leave()
		if _, err := store.ChangeSession(ctx, s.ID, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("who left before its turn was told %v", err)
		}
		s.Reason = "changed"
		return nil, nil
	})
	if err != nil {
		t.Errorf("who left while it was carried out was told %v", err)
	}
	if after, err := store.Session(t.Context(), s.ID); err != nil || after.Reason != "changed" {
		t.Errorf("the change was not stored: %q, %v", after.Reason, err)
	}
}

// TestWhatIsHandedOutIsACopy changes sessions that the store returned, and sessions that it was given.
func TestWhatIsHandedOutIsACopy(t *testing.T) {
	store := open(t, filepath.Join(t.TempDir(), "yurt.db"))
	s := someSession()
	s.Env = map[string]string{"A": "a"}
	if err := store.CreateSession(t.Context(), s, yurt.Transition{To: s.State, At: s.CreatedAt}, nil); err != nil {
		t.Fatal(err)
	}
	s.Env["A"] = "of the caller"
	refusal := errors.New("refused")
	_, err := store.ChangeSession(t.Context(), s.ID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		s.Env["A"], s.Reason = "of the change", "of the change"
		return nil, refusal
	})
	if !errors.Is(err, refusal) {
		t.Fatal(err)
	}
	for range 2 {
		got, err := store.Session(t.Context(), s.ID)
		if err != nil || got.Env["A"] != "a" || got.Reason != s.Reason {
			t.Errorf("the session became %v, %q: %v", got.Env, got.Reason, err)
		}
		got.Env["A"] = "of a reader"
	}
}

// TestSessionIsNoOlderThanItsStory: a reader that has seen a change in the session's story sees it in the session.
func TestSessionIsNoOlderThanItsStory(t *testing.T) {
	store := open(t, filepath.Join(t.TempDir(), "yurt.db"))
	s := someSession()
	if err := store.CreateSession(t.Context(), s, yurt.Transition{To: s.State, At: s.CreatedAt}, nil); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		for range 3000 {
			_, err := store.ChangeSession(t.Context(), s.ID, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
				s.Timeout++
				return s.Remark(s.Timeout.String(), time.Now()), nil
			})
			if err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	for seen := 0; ; {
		select {
		case err := <-written:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
		story, err := store.Transitions(t.Context(), s.ID, seen)
		if err != nil {
			t.Fatal(err)
		}
		seen += len(story)
		if got, err := store.Session(t.Context(), s.ID); err != nil || got.Timeout < s.Timeout+yurt.Duration(seen-1) {
			t.Fatalf("after %d changes the session has a timeout of %s: %v", seen-1, got.Timeout, err)
		}
	}
}

// TestMoreThanIsKept has more sessions than are kept in memory.
func TestMoreThanIsKept(t *testing.T) {
	store := open(t, filepath.Join(t.TempDir(), "yurt.db"))
	var ids []string
	for range 1100 {
		s := someSession()
		if err := store.CreateSession(t.Context(), s, yurt.Transition{To: s.State, At: s.CreatedAt}, nil); err != nil {
			t.Fatal(err)
		}
		e := yurt.Execution{ID: yurt.NewExecutionID(), SessionID: s.ID, Kind: yurt.KindCommand, State: yurt.ExecutionRunning, CreatedAt: s.CreatedAt}
		if _, err := store.BeginExecution(t.Context(), e, func(*yurt.Session, int) ([]yurt.Transition, error) { return nil, nil }); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, s.ID)
	}
	for _, id := range ids {
		_, err := store.ChangeSession(t.Context(), id, func(_ *yurt.Session, running int) ([]yurt.Transition, error) {
			if running != 1 {
				t.Errorf("%d executions run, want 1", running)
			}
			return nil, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestFileIsPrivate(t *testing.T) {
	dir := t.TempDir()
	store := open(t, filepath.Join(dir, "yurt.db"))
	if err := store.PutTemplates(t.Context(), []yurt.Template{{Name: "a"}}, nil); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o; sessions may hold secrets", entry.Name(), mode)
		}
	}
	if len(entries) == 0 {
		t.Error("there is no file at the path")
	}
}

func TestOpenFails(t *testing.T) {
	if _, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "missing", "yurt.db")); err == nil {
		t.Error("opening a file in a missing directory succeeded")
	}
	path := filepath.Join(t.TempDir(), "yurt.db")
	if err := os.WriteFile(path, []byte("this is no database, although it is long enough to be looked at"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), path); err == nil {
		t.Error("opening what is no database succeeded")
	}
}
