package tenancy_test

import (
	"path/filepath"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/access"
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

// TestPoolSizeHoldsForAllTenants: a create of any tenant knows that a built-in template has a pool now, which only the operator sizes.
func TestPoolSizeHoldsForAllTenants(t *testing.T) {
	file, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "yurt.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	divided, acme := tenancy.Of(file), access.OfTenant(t.Context(), "acme")
	size := yurt.PoolSize{Min: 2, Max: 3}
	if err := divided.SetPoolSize(acme, "shell-basic", size); yurt.CodeOf(err) != yurt.CodeForbidden {
		t.Errorf("a tenant sizes a pool, error %v", err)
	}
	if err := divided.SetPoolSize(access.OfTenant(t.Context(), access.DefaultTenant), "shell-basic", size); err != nil {
		t.Fatal(err)
	}
	sizes, err := divided.PoolSizes(acme)
	if err != nil || sizes["shell-basic"] != size {
		t.Errorf("a create of the tenant acme has the sizes %v, error %v; want %v for shell-basic", sizes, err, size)
	}
}
