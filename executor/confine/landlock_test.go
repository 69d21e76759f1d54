package confine_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/confine"
	"github.com/yurtrun/yurt/internal/linux/lockedthread"
	"github.com/yurtrun/yurt/test/testutil"
)

// TestLandlock puts a thread under the rules where it still sees the host, so that they are the one layer.
func TestLandlock(t *testing.T) {
	t.Parallel()
	version, err := confine.LandlockVersion()
	if err != nil {
		t.Fatal(err)
	}
	if version < 2 {
		testutil.Lacks(t, "landlock")
		return
	}
	outside := filepath.Join("/var", confine.Dir) // /var/tmp
	lockedthread.Run(func() {
		if err := errors.Join(unix.Unshare(unix.CLONE_FS), unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), confine.RestrictFiles()); err != nil {
			t.Error(err)
			return
		}
		if _, err := os.CreateTemp(outside, "yurt-landlock-"); !errors.Is(err, unix.EACCES) {
			t.Errorf("writing to %s: %v", outside, err)
		}
		if _, err := os.ReadDir(outside); err != nil {
			t.Errorf("reading %s: %v", outside, err)
		}
		inside, err := os.CreateTemp(confine.Dir, "yurt-landlock-")
		if err != nil {
			t.Errorf("writing to %s: %v", confine.Dir, err)
			return
		}
		if err := errors.Join(inside.Close(), os.Remove(inside.Name())); err != nil {
			t.Error(err)
		}
		if version < 6 {
			testutil.Lacks(t, "landlock for signals")
		} else if err := unix.Kill(os.Getppid(), 0); !errors.Is(err, unix.EPERM) {
			t.Errorf("a signal to the parent: %v", err)
		}
	})
}
