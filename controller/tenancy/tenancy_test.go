package tenancy_test

import (
	"path/filepath"
	"testing"

	"github.com/yurtrun/yurt/controller/contract"
	"github.com/yurtrun/yurt/controller/lease"
	"github.com/yurtrun/yurt/controller/postgres"
	"github.com/yurtrun/yurt/controller/sqlite"
	"github.com/yurtrun/yurt/controller/tenancy"
	"github.com/yurtrun/yurt/test/pgserver"
)

// TestWhatAStoreCanDo: the divided store has the abilities of the whole one, and no more.
func TestWhatAStoreCanDo(t *testing.T) {
	file, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "yurt.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	server, err := postgres.Open(t.Context(), pgserver.Start(t).Database())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for name, whole := range map[string]contract.Store{"sqlite": file, "postgres": server} {
		divided := tenancy.Of(whole)
		_, leases := whole.(lease.Store)
		_, clock := whole.(contract.ClockStore)
		_, shrinks := whole.(contract.ShrinkStore)
		_, leasesToo := divided.(lease.Store)
		_, clockToo := divided.(contract.ClockStore)
		_, shrinksToo := divided.(contract.ShrinkStore)
		if leases != leasesToo || clock != clockToo || shrinks != shrinksToo {
			t.Errorf("%s: leases %v and %v, clock %v and %v, shrinks %v and %v", name, leases, leasesToo, clock, clockToo, shrinks, shrinksToo)
		}
	}
}
