package plugins

import (
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
)

func TestCompileError(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]string{
		"":                          "the compiler failed and printed nothing",
		"\n a: bad \r\n\nb\x1b[31m": " a: bad\nb\ufffd[31m",
		strings.Repeat("x\n", 1000): strings.TrimSuffix(strings.Repeat("x\n", maxSummaryLines), "\n"),
	} {
		if got := CompileError([]byte(output)); got.Message != want || got.Type != yurt.ErrorTypeCompile {
			t.Errorf("%.20q became %+v", output, got)
		}
	}
}
