package typescript_test

import (
	"os"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	testutil.Conformance(t, "typescript", os.DirFS("testdata/samples"))
}
