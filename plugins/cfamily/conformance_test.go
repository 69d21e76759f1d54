package cfamily_test

import (
	"os"
	"testing"

	"github.com/yurtrun/yurt/test/testutil"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for runtime, dir := range map[string]string{"c": "testdata/samples-c", "cpp": "testdata/samples-cpp"} {
		t.Run(runtime, func(t *testing.T) {
			t.Parallel()
			testutil.Conformance(t, runtime, os.DirFS(dir))
		})
	}
}
