//go:build long

package hostile

import (
	"testing"

	"github.com/yurtrun/yurt/test/rig"
)

// TestTenOfEachKind measures what ten sandboxes of each kind take from an eleventh and from the API, and then what ten of
// different kinds do. They have a core together, so that the p50 of the work beside them may be half as long again.
func TestTenOfEachKind(t *testing.T) {
	rig.NeedsSandboxes(t)
	_, client := rig.Serve(t, rig.BuildYurt(t, "yurt-hostile", "test"))
	works := bystander(t, client)
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) { beside(t, client, works, []kind{k}, 10, 10, 1.5) })
	}
	t.Run("of all kinds", func(t *testing.T) { beside(t, client, works, kinds(), 10, 10, 1.5) })
	t.Run("of all kinds, in reverse", func(t *testing.T) {
		all := kinds()
		for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
			all[i], all[j] = all[j], all[i]
		}
		beside(t, client, works, all, 10, 10, 1.5)
	})
}
