package r_test

import (
	"os"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	testutil.Conformance(t, "r", os.DirFS("testdata/samples"))
}
