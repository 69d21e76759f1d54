package storetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/lease"
)

// testLease is about a store that several controllers may use.
func testLease(t *testing.T, shared contract.Store) {
	store, ok := shared.(lease.Store)
	if !ok {
		return
	}
	ctx := t.Context()
	take := func(seen lease.Lease, holder string, want bool) lease.Lease {
		t.Helper()
		taken, ok, err := store.TakeLease(ctx, seen, holder)
		if err != nil || ok != want {
			t.Fatalf("taking %+v for %s: %v, error %v, want %v", seen, holder, ok, err, want)
		}
		return taken
	}
	leases := func(want ...lease.Lease) {
		t.Helper()
		got, err := store.Leases(ctx)
		if err != nil {
			t.Fatal(err)
		}
		wantEqual(t, "leases", got, want)
	}
	leases()
	none := lease.Lease{Name: "a"}
	first := take(none, "x", true)
	leases(lease.Lease{Name: "a", Holder: "x", Beat: 1})
	take(none, "y", false)
	second := take(first, "x", true)
	take(first, "y", false) // the beat went on
	third := take(second, "y", true)
	take(second, "x", false)
	take(lease.Lease{Name: "a", Holder: "x", Beat: third.Beat}, "x", false) // not its holder
	other := take(lease.Lease{Name: "B"}, "x", true)
	leases(other, third)
	for _, holder := range []string{"x", "y", "y"} {
		if err := store.ReleaseLease(ctx, "a", holder); err != nil {
			t.Fatal(err)
		}
	}
	leases(other)
	take(third, "y", false) // the lease has no holder, and that state was not seen
	testLeaseRace(t, store)
}

// testLeaseRace has many take one lease at once.
func testLeaseRace(t *testing.T, store lease.Store) {
	var (
		group   sync.WaitGroup
		winners atomic.Int64
		ctx     = context.WithoutCancel(t.Context())
	)
	seen := lease.Lease{Name: "race"}
	for round := range 3 {
		winners.Store(0)
		for n := range 8 {
			group.Go(func() {
				_, ok, err := store.TakeLease(ctx, seen, fmt.Sprint(n))
				if err != nil {
					t.Error(err)
				}
				if ok {
					winners.Add(1)
				}
			})
		}
		group.Wait()
		if n := winners.Load(); n != 1 {
			t.Errorf("%d took the lease in round %d", n, round)
		}
		list, err := store.Leases(ctx)
		if err != nil {
			t.Fatal(err)
		}
		seen = list[len(list)-1]
	}
}

func testOwner(t *testing.T, store contract.Store) {
	s := mustCreate(t, store, session(1))
	e := execution(s.ID, 1)
	e.Owner = "x"
	mustBegin(t, store, e)
	own := func(from, to string, want bool) {
		t.Helper()
		if ok, err := store.OwnExecution(t.Context(), e.ID, from, to); ok != want || err != nil {
			t.Errorf("from %s to %s: %v, error %v, want %v", from, to, ok, err, want)
		}
	}
	own("z", "y", false)
	own("x", "y", true)
	own("x", "z", false)
	list, err := store.UnfinishedExecutions(t.Context(), "")
	if err != nil || len(list) != 1 || list[0].Owner != "y" {
		t.Errorf("unfinished: %+v, error %v", list, err)
	}
	if _, _, err := store.EndExecution(t.Context(), e.ID, result(), stay); err != nil {
		t.Fatal(err)
	}
	own("y", "z", false)
}
