//go:build long

package attack

import (
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

// TestHoardsOfEveryKind fills every kind of object in one sandbox, and in ten at once.
func TestHoardsOfEveryKind(t *testing.T) {
	testutil.NeedsSandboxes(t)
	every := func(hoard) bool { return true }
	t.Run("one", func(t *testing.T) { fillAll(t, 1, every) })
	t.Run("ten", func(t *testing.T) { fillAll(t, 10, every) })
}
