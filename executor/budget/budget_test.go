package budget_test

import (
	"math"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/budget"
)

func TestBounds(t *testing.T) {
	total, err := budget.HostMemory()
	if err != nil {
		t.Fatal(err)
	}
	b, err := budget.Bounds{}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	if b.Memory < total/2-1<<20 || b.Memory >= total || b.PIDs < budget.MinPIDs || b.Promisable() != 4*b.Memory {
		t.Errorf("the defaults are %+v on a host of %s", b, total)
	}
	for name, b := range map[string]budget.Bounds{
		"more memory than the host has": {Memory: total + 1},
		"little memory":                 {Memory: 1 << 20},
		"few processes":                 {PIDs: 1},
		"more processes than there are": {PIDs: math.MaxInt},
		"less than there is":            {Overcommit: 0.5},
		"no number":                     {Overcommit: math.NaN()},
		"too much":                      {Overcommit: 1001},
	} {
		if _, err := b.Complete(); yurt.CodeOf(err) != yurt.CodeLimitOutOfRange {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
