package record

import (
	"fmt"
	"testing"

	"github.com/yurtrun/yurt"
)

// TestBoundTenants: many tenants give no more labels than the bound, and no session is left out.
func TestBoundTenants(t *testing.T) {
	var counts []TenantCount
	all := 0
	for i := range 3 * maxTenants {
		for _, state := range []yurt.SessionState{yurt.SessionReady, yurt.SessionPaused} {
			counts = append(counts, TenantCount{fmt.Sprint("tenant", i), state, i + 1})
			all += i + 1
		}
	}
	kept, sum, tenants := boundTenants(counts), 0, map[string]bool{}
	for _, c := range kept {
		sum += c.N
		tenants[c.Tenant] = true
	}
	if sum != all || len(tenants) != maxTenants+1 || !tenants[otherTenants] || !tenants[fmt.Sprint("tenant", 3*maxTenants-1)] || tenants["tenant0"] {
		t.Errorf("%d of %d sessions in %d tenants, want all, in the %d largest and %s", sum, all, len(tenants), maxTenants, otherTenants)
	}
	if few := boundTenants(counts[:4]); len(few) != 4 {
		t.Errorf("two tenants give %d figures, want 4", len(few))
	}
}
