package fleet

import (
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/controller/contract"
)

// TestNodeThatCannotBeListed has the next sweep come soon for a while, and again after it was listed.
func TestNodeThatCannotBeListed(t *testing.T) {
	guard := newNodeGuard()
	nodes := map[string]contract.Node{"deaf": nil, "well": nil}
	some := map[string]map[string]yurt.Sandbox{"well": {}}
	all := map[string]map[string]yurt.Sandbox{"well": {}, "deaf": {}}
	for round := range 2 {
		for i := range maxResweeps + 3 {
			if guard.noteListed(nodes, some); guard.resweeps() != (i < maxResweeps) {
				t.Errorf("round %d: after %d sweeps without it the next one comes soon: %t", round, i+1, guard.resweeps())
			}
		}
		if guard.noteListed(nodes, all); guard.resweeps() {
			t.Error("the next one comes soon though all were listed")
		}
	}
}
