package languages

import (
	"log/slog"
	"reflect"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/programs"
	"github.com/yurtrun/yurt/plugins/host"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestDescriptions: the descriptions that the build keeps are those that the runtimes give of themselves, and spare a host each start.
func TestDescriptions(t *testing.T) {
	testutil.NeedsSandboxes(t)
	dir := testutil.Build(t).PluginDir
	listed := func(by host.Confinement, options ...host.Option) []yurt.RuntimeInfo {
		h := host.New(dir, slog.New(slog.DiscardHandler), append(options, host.WithConfinement(by))...)
		defer h.Close()
		list, err := h.Runtimes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	local := programs.New(programs.Config{PluginDir: dir})
	defer local.Close()
	asked := listed(programs.Runtimes{By: local})
	if len(asked) < 11 {
		t.Fatalf("there are %d runtimes, expected 11 or more", len(asked))
	}
	closed := programs.New(programs.Config{PluginDir: dir})
	closed.Close() // it starts no runtime
	if told := listed(programs.Runtimes{By: closed}, host.WithDescriptions()); !reflect.DeepEqual(told, asked) {
		t.Errorf("the kept descriptions are\n%+v\nand the runtimes say\n%+v", told, asked)
	}
}
