//go:build long

package output

import "testing"

// TestHundredPrintersCostLittle is [TestPrintersCostLittle] at its full size.
func TestHundredPrintersCostLittle(t *testing.T) {
	if above := cost(t, 100); above > costGoal {
		t.Errorf("a hundred sandboxes that print NULs cost the server %d MiB, want at most %d", above>>20, costGoal>>20)
	}
}
