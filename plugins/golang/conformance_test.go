package golang_test

import (
	"os"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/plugins/compiled/compiledtest"
	"github.com/yurtrun/yurt/plugins/golang"
	"github.com/yurtrun/yurt/test/testutil"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("makes real sandboxes; run without -short")
	}
	cache := compiledtest.GoCache(t)
	testutil.Conformance(t, "go", os.DirFS("testdata/samples"), func(t *yurt.Template) {
		t.Resources.Memory, t.Resources.Disk, t.Resources.PIDs = 1<<30, 512<<20, 512
		t.RootFS.HostPaths = append(t.RootFS.HostPaths, cache)
		t.Env = map[string]string{golang.CacheEnv: cache}
	})
}
