package layers

import (
	"archive/tar"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/internal/linux/lockedthread"
)

// TestLayersNeedNoCapability: the store belongs to the user of its process. That user makes and removes layers of all modes without any.
func TestLayersNeedNoCapability(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	entries := []*tar.Header{
		{Typeflag: tar.TypeDir, Name: "sealed/", Mode: 0o555},
		{Typeflag: tar.TypeReg, Name: "sealed/file", Mode: 0o7444, Uid: 1000, Gid: 1000},
		{Typeflag: tar.TypeDir, Name: "closed/", Mode: 0o2000},
		{Typeflag: tar.TypeReg, Name: "closed/file", Mode: 0o001},
	}
	source := archive(t, 10, entries...)
	var err error
	lockedthread.Run(func() {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		if err = unix.Capset(&header, &none[0]); err != nil {
			return
		}
		if opened, openErr := os.Open("/proc/1/environ"); openErr == nil {
			err = errors.Join(errors.New("the thread reads the environment of another process"), opened.Close())
			return
		}
		if err = s.Add(t.Context(), digest("a"), source); err != nil {
			return
		}
		for _, name := range []string{"sealed/file", "closed/file"} {
			if _, err = os.ReadFile(filepath.Join(s.Tree(digest("a")), name)); err != nil {
				return
			}
		}
		var removed bool
		if removed, err = s.remove(digest("a")); err == nil && !removed {
			err = fs.ErrExist
		}
	})
	if err != nil {
		t.Errorf("a layer without capabilities: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the store has %v, %v", left, err)
	}
}
