package r_test

import (
	"os"
	"testing"

	"github.com/yurtrun/yurt/test/rig"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	rig.Conformance(t, "r", os.DirFS("testdata/samples"))
}
