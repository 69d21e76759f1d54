package wholenumber_test

import (
	"testing"

	"github.com/yurtrun/yurt/internal/wholenumber"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"64": "64", "64.0": "64", "1e2": "100", "-2.50e1": "-25", "-0.0": "0",
		"1.5": "1.5", "9007199254740993": "9007199254740993", "1e300": "1e300", `"64.0"`: `"64.0"`, "null": "null", "": "",
	} {
		if got := string(wholenumber.Plain([]byte(raw))); got != want {
			t.Errorf("Plain(%s) = %s, want %s", raw, got, want)
		}
	}
}
