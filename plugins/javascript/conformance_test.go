package javascript_test

import (
	"os"
	"testing"

	"github.com/yurtrun/yurt/test/rig"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	rig.Conformance(t, "javascript", os.DirFS("testdata/samples"))
}
