package grpccode

import (
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/yurtrun/yurt"
)

// TestEveryCodeHasAStatus: a code that is missing in the table would become an internal error.
func TestEveryCodeHasAStatus(t *testing.T) {
	for _, code := range yurt.Codes() {
		if status, ok := statuses()[code]; !ok || status == codes.OK {
			t.Errorf("code %s has the status %s, want an error", code, status)
		}
	}
	if got := Of("made up"); got != codes.Internal {
		t.Errorf("an unknown code has the status %s, want %s", got, codes.Internal)
	}
}
