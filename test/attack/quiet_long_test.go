//go:build long

package attack

import (
	"testing"
	"time"
)

// TestLongSilence is [TestSilence] for longer.
func TestLongSilence(t *testing.T) { overhear(t, 30*time.Second) }
