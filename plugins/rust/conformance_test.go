package rust_test

import (
	"os"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	testutil.Conformance(t, "rust", os.DirFS("testdata/samples"), func(t *yurt.Template) {
		t.Resources.Memory, t.Resources.Disk, t.Resources.PIDs = 1<<30, 512<<20, 512
	})
}
