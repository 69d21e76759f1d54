package node_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/yurtrun/yurt/executor/statedir"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestLongStateDirectory: a path that is longer than a socket's name may be works, and leaves no file elsewhere.
func TestLongStateDirectory(t *testing.T) {
	t.Parallel()
	testutil.NeedsSandboxes(t)
	config := testutil.Config(t, testutil.Build(t))
	config.StateDir = filepath.Join(config.StateDir, strings.Repeat("x", 100))
	elsewhere := statedir.RunDir("", config.StateDir)
	t.Cleanup(func() { // after the executor is closed
		if _, err := os.Stat(elsewhere); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", elsewhere, err)
		}
	})
	e := testutil.Start(t, config)
	if r := testutil.Execute(t, e, testutil.Create(t, e).ID, testutil.Cell("print(1 + 1)")); r.Stdout != "2\n" {
		t.Errorf("a cell printed %q: %+v", r.Stdout, r.Error)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, "plugins")); err != nil {
		t.Errorf("the sockets of the runtimes are not in %s: %v", elsewhere, err)
	}
}
