package node_test

import (
	"path/filepath"
	"testing"

	"github.com/yurtrun/yurt/executor/statedir"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestCgroupsOfWhatWasLeftAreRemoved has runs leave processes behind, which end some time after
// them: their cgroups go then, and not with the sandbox.
func TestCgroupsOfWhatWasLeftAreRemoved(t *testing.T) {
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	e := testutil.Start(t, config)
	sandbox := testutil.Create(t, e).ID
	leaves := func() (n int) {
		for _, hierarchy := range []string{"memory", ""} { // of v1 and of v2
			found, err := filepath.Glob(filepath.Join("/sys/fs/cgroup", hierarchy, statedir.CgroupName(config.StateDir), sandbox, "runs/*/cgroup.procs"))
			if err != nil {
				t.Fatal(err)
			}
			n += len(found)
		}
		return n
	}
	const runs = 20
	for range runs {
		testutil.Run(t, e, sandbox, "(while ! [ -e /tmp/go ]; do sleep 0.1; done) &")
	}
	if n := leaves(); n < runs {
		t.Fatalf("%d cgroups are there, want one for each of the %d runs that left something", n, runs)
	}
	testutil.Run(t, e, sandbox, "touch /tmp/go")
	testutil.Eventually(t, "cgroups of runs that left nothing any more", func() bool {
		testutil.Run(t, e, sandbox, "true")
		return leaves() < runs/2
	})
}
