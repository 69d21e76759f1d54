package postgres_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/lease"
	"github.com/yurtrun/yurt/controller/postgres"
	"github.com/yurtrun/yurt/test/pgserver"
)

// put adds a session that ends in a counter: its idle timeout.
func put(t *testing.T, store *postgres.Store) string {
	t.Helper()
	at := time.Unix(1, 2).UTC()
	s := yurt.Session{ID: yurt.NewSessionID(), State: yurt.SessionReady, CreatedAt: at, UpdatedAt: at, ActiveAt: at}
	if err := store.CreateSession(t.Context(), s, yurt.Transition{To: s.State}, nil); err != nil {
		t.Fatal(err)
	}
	return s.ID
}

// count counts the session on, with a line in its story.
func count(ctx context.Context, store *postgres.Store, id string) error {
	_, err := store.ChangeSession(ctx, id, func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		s.IdleTimeout++
		return []yurt.Transition{{From: s.State, To: s.State, Reason: "counted"}}, nil
	})
	return err
}

// counted returns how far it was counted, which its story has to say too.
func counted(t *testing.T, store *postgres.Store, id string) int {
	t.Helper()
	s, err := store.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	story, err := store.Transitions(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := int(s.IdleTimeout); n != len(story)-1 {
		t.Errorf("%d were counted, and the story says %d", n, len(story)-1)
	}
	return int(s.IdleTimeout)
}

// tally counts the answers to the clients of a store.
type tally struct{ stored, refused, unknown atomic.Int64 }

func (c *tally) add(t *testing.T, err error) {
	var coded *yurt.Error
	switch {
	case err == nil:
		c.stored.Add(1)
	case !asUnavailable(err, &coded):
		t.Errorf("error %v", err)
	case strings.Contains(err.Error(), "not known whether"):
		c.unknown.Add(1)
	default:
		c.refused.Add(1)
	}
}

func asUnavailable(err error, coded **yurt.Error) bool {
	e, ok := err.(*yurt.Error) //nolint:errorlint // as the transports get it
	if ok {
		*coded = e
	}
	return ok && e.Code == yurt.CodeUnavailable && e.RetryAfter > 0
}

// TestServerIsKilled kills the server again and again under load. The stored data matches the clients' answers.
func TestServerIsKilled(t *testing.T) {
	server := pgserver.Start(t)
	store := open(t, server.Database())
	ids := []string{put(t, store), put(t, store), put(t, store)}
	tallies := make([]tally, len(ids))
	done := make(chan struct{})
	var clients sync.WaitGroup
	for client := range 6 {
		clients.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				at := client % len(ids)
				tallies[at].add(t, count(context.WithoutCancel(t.Context()), store, ids[at]))
			}
		})
	}
	soon := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("it does not come about that %s", what)
			}
		}
	}
	for range 2 {
		before := tallies[0].stored.Load()
		soon("something is stored", func() bool { return tallies[0].stored.Load() > before+20 })
		server.Kill()
		refused := tallies[0].refused.Load()
		soon("requests are refused", func() bool { return tallies[0].refused.Load() > refused })
		server.Restart()
	}
	before := tallies[0].stored.Load()
	soon("something is stored", func() bool { return tallies[0].stored.Load() > before })
	close(done)
	clients.Wait()
	for i, id := range ids {
		stored, unknown := int(tallies[i].stored.Load()), int(tallies[i].unknown.Load())
		if n := counted(t, store, id); n < stored || n > stored+unknown {
			t.Errorf("%d were stored, where %d were told so and %d may have been", n, stored, unknown)
		}
		t.Logf("stored %d, refused %d, not known %d", stored, tallies[i].refused.Load(), unknown)
	}
}

// TestShortAbsenceIsWaitedOut: a request that comes while the server restarts is served.
func TestShortAbsenceIsWaitedOut(t *testing.T) {
	server := pgserver.Start(t)
	store := open(t, server.Database())
	id := put(t, store)
	server.Kill()
	served := make(chan error)
	go func() {
		err := count(t.Context(), store, id)
		for try := 0; try < 100 && yurt.CodeOf(err) == yurt.CodeUnavailable; try++ { // on a busy machine it may take longer
			err = count(t.Context(), store, id)
			time.Sleep(10 * time.Millisecond)
		}
		served <- err
	}()
	server.Restart()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if n := counted(t, store, id); n != 1 {
		t.Errorf("it was counted to %d", n)
	}
}

// TestAnswerOfACommitIsLost has the connection break around a commit: once it took place,
// and before it could.
func TestAnswerOfACommitIsLost(t *testing.T) {
	server := pgserver.Start(t)
	for _, test := range []struct {
		name string
		cut  cut
	}{{"committed", afterCommit}, {"aborted", beforeCommit}} {
		t.Run(test.name, func(t *testing.T) {
			proxy := startProxy(t, server.Database())
			store := open(t, proxy.url)
			id := put(t, store)
			proxy.next(test.cut)
			if err := count(t.Context(), store, id); err != nil {
				t.Error(err)
			}
			if !proxy.used() {
				t.Error("no commit was cut off")
			}
			if n := counted(t, store, id); n != 1 {
				t.Errorf("it was counted to %d", n)
			}
			e := yurt.Execution{ID: yurt.NewExecutionID(), SessionID: id, State: yurt.ExecutionRunning, CreatedAt: time.Unix(1, 0)}
			proxy.next(test.cut)
			if _, err := store.BeginExecution(t.Context(), e, stay); err != nil {
				t.Error(err)
			}
			proxy.next(test.cut)
			if _, ended, err := store.EndExecution(t.Context(), e.ID, &yurt.Result{Stdout: "a"}, stay); !ended || err != nil {
				t.Errorf("it counts as ended: %v, error %v", ended, err)
			}
			proxy.next(test.cut)
			if _, ok, err := store.TakeLease(t.Context(), lease.Lease{Name: "a"}, "x"); !ok || err != nil {
				t.Errorf("the lease is taken: %v, error %v", ok, err)
			}
			proxy.next(test.cut)
			if err := store.PutTemplates(t.Context(), []yurt.Template{{Name: "a"}}, nil); err != nil {
				t.Error(err)
			}
			if !proxy.used() {
				t.Error("no commit was cut off")
			}
		})
	}
}

func stay(*yurt.Session, int) ([]yurt.Transition, error) { return nil, nil }
