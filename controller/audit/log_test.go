package audit_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	"github.com/yurtrun/yurt/controller/audit"
	"github.com/yurtrun/yurt/controller/auth"
	"github.com/yurtrun/yurt/controller/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// awayStore is a real store that can be out of reach.
type awayStore struct {
	audit.Store
	away atomic.Bool
}

func (s *awayStore) AddEntries(ctx context.Context, entries []access.Entry) error {
	if s.away.Load() {
		return yurt.Errorf(yurt.CodeUnavailable, "the store is away")
	}
	return s.Store.AddEntries(ctx, entries)
}

// world is a log that runs, over a real store.
type world struct {
	t     *testing.T
	store *awayStore
	log   *audit.Log
	file  string
	stop  func()
}

func newWorld(t *testing.T, changes ...func(*audit.Config)) *world {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "yurt.db"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, store: &awayStore{Store: sqlite.Audit(store)}, file: filepath.Join(t.TempDir(), "audit.jsonl")}
	config := audit.Config{Store: w.store, File: w.file}
	for _, change := range changes {
		change(&config)
	}
	if w.log, err = audit.New(config); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.log.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	w.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(func() {
		w.store.away.Store(false)
		w.stop()
		store.Close()
	})
	return w
}

func (w *world) entries() []access.Entry {
	w.t.Helper()
	list, err := w.store.Entries(context.Background(), audit.Query{Reach: auth.Everywhere()})
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// TestStopWritesTheRest: entries that wait when the server stops are written.
func TestStopWritesTheRest(t *testing.T) {
	w := newWorld(t)
	for range 300 {
		pending, err := w.log.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pending.End(access.Entry{Action: "create-session", Decision: access.Allowed})
		pending.End(access.Entry{Action: "again"})
	}
	w.stop()
	if n := len(w.entries()); n != 300 {
		t.Errorf("%d entries were written, want 300", n)
	}
	text, err := os.ReadFile(w.file)
	if err != nil || strings.Count(string(text), "\n") != 300 {
		t.Errorf("the file has %d lines, want 300, error %v", strings.Count(string(text), "\n"), err)
	}
}

// TestReaderSeesLastChange: an entry is listed at once, though entries wait to be written together.
func TestReaderSeesLastChange(t *testing.T) {
	w := newWorld(t)
	for n := 1; n <= 5; n++ {
		pending, err := w.log.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pending.End(access.Entry{Action: "create-session", Decision: access.Allowed})
		if list, err := w.log.List(access.Systemwide(t.Context()), "", audit.Query{}); err != nil || len(list) != n {
			t.Fatalf("after %d changes %d are listed, error %v", n, len(list), err)
		}
	}
}

// TestFullQueueRefusesChanges: without room for its entry a change does not begin, until the store is back; no entry is lost.
func TestFullQueueRefusesChanges(t *testing.T) {
	w := newWorld(t)
	w.store.away.Store(true)
	begun := 0
	for ; begun < 100_000; begun++ {
		pending, err := w.log.Begin(t.Context())
		if err != nil {
			if yurt.CodeOf(err) != yurt.CodeUnavailable {
				t.Fatal(err)
			}
			break
		}
		pending.End(access.Entry{Action: "create-session", Decision: access.Allowed})
	}
	served := false
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true })
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/sessions", nil)
	if err := w.log.Serve(httptest.NewRecorder(), request, "create-session", "req_a", handler); err == nil || served {
		t.Errorf("a change without room for its entry: served %v, error %v", served, err)
	}
	request = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/sessions", nil)
	if err := w.log.Serve(httptest.NewRecorder(), request, "list-sessions", "req_a", handler); err != nil || !served {
		t.Errorf("a request that reads: served %v, error %v", served, err)
	}
	w.log.Note(access.Entry{Action: "authenticate", Decision: access.Denied}) // which must not block
	w.store.away.Store(false)
	w.await(begun + 1)
	if pending, err := w.log.Begin(t.Context()); err != nil {
		t.Error("after the store is back:", err)
	} else {
		pending.End(access.Entry{Action: "create-session"})
	}
}

func (w *world) await(n int) {
	w.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		list := w.entries()
		if len(list) >= n {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("%d entries are there, want %d", len(list), n)
		}
	}
}

// TestFloodIsSummedUp: 10,000 refusals are a hundred entries and some sums, and their counts add up.
func TestFloodIsSummedUp(t *testing.T) {
	w := newWorld(t)
	const flood = 10_000
	for n := range flood {
		w.log.Note(access.Entry{Action: "authenticate", Decision: access.Denied, Address: []string{"192.0.2.1", "192.0.2.2"}[n%2]})
	}
	w.stop()
	total := 0
	list := w.entries()
	for _, e := range list {
		total += e.Count
	}
	if total != flood || len(list) > 300 {
		t.Errorf("%d entries stand for %d refusals, want at most 300 for %d", len(list), total, flood)
	}
}

// TestRenamedFile: after a rename further entries are in a new file.
func TestRenamedFile(t *testing.T) {
	w := newWorld(t)
	add := func(action string, n int) {
		pending, err := w.log.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pending.End(access.Entry{Action: action})
		w.await(n)
	}
	add("before", 1)
	if err := os.Rename(w.file, w.file+".1"); err != nil {
		t.Fatal(err)
	}
	add("after", 2)
	for name, want := range map[string]string{w.file + ".1": "before", w.file: "after"} {
		text, err := os.ReadFile(name)
		if err != nil || strings.Count(string(text), "\n") != 1 || !strings.Contains(string(text), want) {
			t.Errorf("%s has %q, want the entry %s, error %v", name, text, want, err)
		}
	}
	info, err := os.Stat(w.file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, error %v", info.Mode(), err)
	}
}

func TestPanicHasAnEntry(t *testing.T) {
	w := newWorld(t)
	func() {
		defer func() { _ = recover() }()
		handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(errors.New("a fault")) })
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/sessions", nil)
		_ = w.log.Serve(httptest.NewRecorder(), request, "create-session", "req_a", handler)
	}()
	w.await(1)
	if e := w.entries()[0]; e.Decision != access.Failed || e.Status != http.StatusInternalServerError {
		t.Errorf("the entry of a request that panicked is %+v", e)
	}
}

func BenchmarkServe(b *testing.B) {
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "yurt.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	log, err := audit.New(audit.Config{Store: sqlite.Audit(store)})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = log.Run(ctx) })
	defer running.Wait()
	defer cancel()
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
	request := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/api/v1/sessions", nil)
	for b.Loop() {
		if err := log.Serve(httptest.NewRecorder(), request, "create-session", "req_a", handler); err != nil {
			b.Fatal(err)
		}
	}
}
