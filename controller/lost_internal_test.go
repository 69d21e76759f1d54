package controller

import (
	"testing"

	"github.com/yurtrun/yurt"
)

// TestNodeThatCannotBeListed has the next sweep come soon for a while, and again after it was listed.
func TestNodeThatCannotBeListed(t *testing.T) {
	guard := newNodeGuard()
	nodes := map[string]Node{"deaf": nil, "well": nil}
	some := map[string]map[string]yurt.Sandbox{"well": {}}
	all := map[string]map[string]yurt.Sandbox{"well": {}, "deaf": {}}
	for round := range 2 {
		for i := range relooks + 3 {
			if guard.noteListed(nodes, some); guard.relook() != (i < relooks) {
				t.Errorf("round %d: after %d sweeps without it the next one comes soon: %t", round, i+1, guard.relook())
			}
		}
		if guard.noteListed(nodes, all); guard.relook() {
			t.Error("the next one comes soon though all were listed")
		}
	}
}
