package protocol

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/grpc/status"

	"github.com/yurtrun/yurt"
)

// TestErrorOverWire sends errors to the other side and back.
func TestErrorOverWire(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err     error
		code    yurt.Code
		message string
	}{
		"coded":    {yurt.FieldErrorf(yurt.CodeNotSupported, "kind", "no %s", "x"), yurt.CodeNotSupported, "kind: no x"},
		"plain":    {errors.New("plain"), yurt.CodeInternal, "plain"},
		"made up":  {yurt.Errorf("made_up", "x"), yurt.CodeInternal, "x"},
		"escapes":  {errors.New("\x1b]0;x\a"), yurt.CodeInternal, "\ufffd]0;x\ufffd"},
		"no UTF-8": {errors.New("a\xffb"), yurt.CodeInternal, "a\ufffdb"},
	} {
		got := ErrorFromWire(ErrorToWire(tt.err))
		if got == nil || got.Code != tt.code || got.Error() != tt.message {
			t.Errorf("%s: got %v", name, got)
		}
	}
	if got := ErrorFromWire(status.Error(14, "connection lost")); got != nil {
		t.Errorf("a lost connection became %v", got)
	}
	if got := ErrorFromWire(ErrorToWire(errors.New(strings.Repeat("x", 1<<20)))); len(got.Message) > MaxErrorBytes+100 {
		t.Errorf("message of %d bytes", len(got.Message))
	}
}
