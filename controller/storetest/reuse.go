package storetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

// testReuseKey: of concurrent creates with one key a single one succeeds. A later create succeeds only when that
// session has ended or has given the key up.
func testReuseKey(t *testing.T, store contract.Store) {
	create := func(n int, key string) error {
		s := session(n)
		s.ReuseKey = key
		return store.CreateSession(context.WithoutCancel(t.Context()), s, yurt.Transition{To: s.State, At: s.CreatedAt}, nil)
	}
	var made atomic.Int32
	var group sync.WaitGroup
	for n := range 20 {
		group.Go(func() {
			switch err := create(n, "key"); {
			case err == nil:
				made.Add(1)
			case !errors.Is(err, contract.ErrReuseTaken):
				t.Error(err)
			}
		})
	}
	group.Wait()
	if made.Load() != 1 {
		t.Fatalf("%d of 20 made the session to reuse", made.Load())
	}
	for n, key := range []string{"another", "", ""} {
		if err := create(20+n, key); err != nil {
			t.Errorf("key %q: %v", key, err)
		}
	}
	end := func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		change, err := s.Transition(yurt.SessionTerminated, "done", epoch().Add(time.Hour))
		return []yurt.Transition{change}, err
	}
	giveUp := func(s *yurt.Session, _ int) ([]yurt.Transition, error) {
		s.ReuseKey = ""
		return nil, nil
	}
	for n, change := range []contract.SessionChange{end, giveUp} {
		if _, err := store.ChangeSession(t.Context(), holder(t, store, "key").ID, change); err != nil {
			t.Fatal(err)
		}
		if err := create(30+n, "key"); err != nil {
			t.Error(err)
		}
		if got := holder(t, store, "key"); got.ID != session(30+n).ID {
			t.Errorf("%s has the key", got.ID)
		}
	}
}

func holder(t *testing.T, store contract.Store, key string) yurt.Session {
	t.Helper()
	list, err := store.Sessions(t.Context(), contract.SessionQuery{ReuseKey: key, Live: true})
	if err != nil || len(list) != 1 || list[0].ReuseKey != key {
		t.Fatalf("the key %s is that of %v, error %v", key, list, err)
	}
	return list[0]
}
