//go:build long

package hostile

import (
	"fmt"
	"slices"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

// goal is how many times its p50 alone a work may take beside ten hostile sandboxes whose quotas of CPU sum to one core.
const goal = 1.5

// making is the same for a work that makes a sandbox. It misses the goal beside fork bombs and storms of new programs (1.4 to 1.7
// times was measured on two cores): the kernel makes namespaces, mounts and cgroups under locks that these programs take too.
const making = 2

// TestCrowdsOfEveryKind puts hostile sandboxes of every kind, ten at once, beside one that works, and holds the work and the API to the
// goal. It needs a machine without other work, and takes less than two minutes. Clients that flood the API are no sandboxes: no quota
// of a sandbox bounds them, and TestCrowd has them.
func TestCrowdsOfEveryKind(t *testing.T) {
	testutil.NeedsSandboxes(t)
	_, client := testutil.Serve(t, testutil.BuildYurt(t, "yurt", "test"))
	works := bystander(t, client)
	for some := range slices.Chunk(programs(), crowdSize) {
		t.Run(fmt.Sprintf("%s to %s", some[0].name, some[len(some)-1].name), func(t *testing.T) {
			beside(t, client, works, some, 10, 10, bounds{api: goal, inside: goal, making: making})
		})
	}
}
