package httpcode

import (
	"testing"

	"github.com/yurtrun/yurt"
)

// TestEveryCodeHasAStatus: a code that is missing in the table would be answered as an internal error.
func TestEveryCodeHasAStatus(t *testing.T) {
	for _, code := range yurt.Codes() {
		if status, ok := statuses()[code]; !ok || status < 400 || status > 599 {
			t.Errorf("code %s has status %d, want one from 400 to 599", code, status)
		}
	}
	if got := Of("made up"); got != 500 {
		t.Errorf("an unknown code has status %d, want 500", got)
	}
}
