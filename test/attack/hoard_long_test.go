//go:build long

package attack

import (
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

// TestHoardsOfEveryKind fills every kind of object in one sandbox, and those of the smoke test in ten at once.
func TestHoardsOfEveryKind(t *testing.T) {
	testutil.NeedsSandboxes(t)
	t.Run("one", func(t *testing.T) { fillAll(t, 1, func(hoard) bool { return true }) })
	t.Run("ten", func(t *testing.T) { fillAll(t, 10, func(h hoard) bool { return h.smoke }) })
}
