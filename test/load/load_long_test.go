//go:build long

package load

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
	yurtclient "github.com/yurtrun/yurt/sdk/go"
	"github.com/yurtrun/yurt/test/testutil"
)

// The load of TestLoad, and its bound.
const (
	streams     = 200
	sockets     = 1000 // that are idle
	busy        = 10   // sessions that have them
	createsEach = 50   // a second, and at once: a machine that makes fewer a second has no longer queue of them
	loadedFor   = 20 * time.Second
	mostMemory  = 150 << 20 // of controller and node together
)

// TestLoad: under 200 streams, 1,000 idle WebSockets and 50 creates a second, with keys, quotas and rate limits on, each stream and each
// create works, and the server needs at most 150 MB.
//
// It counts controller and node together, as they are one process. The rate is that of the machine where this is lower: two processors on
// which fork and exec take 1.7 ms made 28 sessions a second, since each stream forks a program a second, too.
func TestLoad(t *testing.T) {
	s := serve(t, "--memory-overcommit", "1000", "--rate-limit-key", "1000", "--rate-limit-address", "10000")
	client := s.tenant(t, "busy")
	sessions, creates := 500, 60*createsEach*2
	if _, err := yurtclient.NewTenants(s.admin).SetQuotas(t.Context(), "busy", access.Quotas{Sessions: &sessions, CreatesPerMinute: &creates}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.admin.SetPool(t.Context(), template, yurt.PoolSize{Min: 8, Max: 64}.Change()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var events atomic.Int64
	for n := range busy {
		session, err := client.CreateSession(t.Context(), small())
		if err != nil {
			t.Fatal(err)
		}
		for range streams / busy {
			running.Go(func() { stream(ctx, t, client, session.ID, &events) })
		}
		idle(ctx, t, client, session.ID, sockets/busy, n)
	}
	testutil.Eventually(t, "each stream has events", func() bool { return events.Load() >= 2*streams })
	before := events.Load()
	took := createAtRate(t, client)
	if came := events.Load() - before; came < streams*int64(loadedFor/time.Second)/2 {
		t.Errorf("%d events came on %d streams in %s; each has one a second", came, streams, loadedFor)
	}
	slices.Sort(took)
	now := s.figures(t)
	t.Logf("%d creates in %s took %s in the median and %s at p99; the server has %s", len(took), loadedFor, took[len(took)/2], took[len(took)*99/100], now)
	for _, part := range []string{"heap_inuse", "heap_idle", "heap_released", "stack_inuse", "next_gc"} {
		t.Logf("%s: %d MiB", part, s.metric(t, "go_memstats_"+part+"_bytes")>>20)
	}
	if now.memory > mostMemory {
		t.Errorf("the server has %d MiB of memory under load, and %d are the most", now.memory>>20, mostMemory>>20)
	}
}

// stream watches a program that prints a line each second, until ctx ends.
func stream(ctx context.Context, t *testing.T, client *yurtclient.Client, session string, events *atomic.Int64) {
	e, err := client.Start(ctx, session, yurtclient.ExecuteRequest{
		Command: yurtclient.Command{Shell: "while :; do echo line; sleep 1; done"}, Timeout: yurt.Duration(10 * time.Minute),
	})
	if err == nil {
		err = client.WatchExecution(ctx, session, e.ID, 0, func(yurt.Event) error { events.Add(1); return nil })
	}
	if ctx.Err() == nil {
		t.Errorf("a stream ended under load, error %v", err)
	}
}

// idle opens WebSockets on one terminal that shows no output. They are closed when the test ends.
func idle(ctx context.Context, t *testing.T, client *yurtclient.Client, session string, count, n int) {
	t.Helper()
	first, err := client.OpenTerminal(ctx, session, yurtclient.TerminalRequest{Command: "exec sleep 600"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { first.Close() })
	for range count - 1 {
		another, err := client.OpenTerminal(ctx, session, yurtclient.TerminalRequest{ExecutionID: first.ExecutionID})
		if err != nil {
			t.Fatalf("opening an idle WebSocket on session %d: %v", n+1, err)
		}
		t.Cleanup(func() { another.Close() })
	}
}

// createAtRate makes sessions at the rate and ends each, and returns how long each create took.
func createAtRate(t *testing.T, client *yurtclient.Client) (took []time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var making sync.WaitGroup
	tick, slots := time.NewTicker(time.Second/createsEach), make(chan struct{}, createsEach)
	defer tick.Stop()
	for end := time.Now().Add(loadedFor); time.Now().Before(end); <-tick.C {
		slots <- struct{}{}
		making.Go(func() {
			defer func() { <-slots }()
			began := time.Now()
			session, err := client.CreateSession(t.Context(), small())
			if err != nil {
				t.Errorf("a create under load: %v", err)
				return
			}
			mu.Lock()
			took = append(took, time.Since(began))
			mu.Unlock()
			if _, err := client.EndSession(t.Context(), session.ID); err != nil {
				t.Errorf("ending a session under load: %v", err)
			}
		})
	}
	making.Wait()
	if len(took) < createsEach*int(loadedFor/time.Second)/2 {
		t.Fatalf("%d creates were made in %s, want %d a second", len(took), loadedFor, createsEach)
	}
	return took
}
