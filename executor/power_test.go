package executor_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/yurtrun/yurt/executor"
	"github.com/yurtrun/yurt/executor/idrange"
)

// TestPowerReclaimsTreesOfUnpackers: a broker that starts gives the files of an unpacker, which died with the broker before it, to the
// owner of the store.
func TestPowerReclaimsTreesOfUnpackers(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	config := executor.Config{StateDir: t.TempDir(), InitPath: self, LauncherPath: self, FilesPath: self}
	tree := filepath.Join(config.StateDir, "images", "new-KILLED", "tree")
	if err := errors.Join(os.MkdirAll(tree, 0o700), os.Chown(tree, idrange.Programs, idrange.Programs)); err != nil {
		t.Fatal(err)
	}
	power, err := executor.OpenPower(config)
	if err != nil {
		t.Fatal(err)
	}
	defer power.Close()
	info, err := os.Stat(tree)
	if err != nil {
		t.Fatal(err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != idrange.Executor {
		t.Errorf("the tree belongs to %d", stat.Uid)
	}
}
