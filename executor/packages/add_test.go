package packages_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/executor/packages"
	"github.com/yurtrun/yurt/executor/trees"
	"github.com/yurtrun/yurt/internal/linux/lockedthread"
)

func digest(letter string) string { return strings.Repeat(letter, 64) }

// archive is a tar archive of one file and of the given entries.
func archive(t *testing.T, size int, more ...*tar.Header) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	headers := append([]*tar.Header{
		{Typeflag: tar.TypeDir, Name: "bin/", Mode: 0o700},
		{Typeflag: tar.TypeReg, Name: "bin/tool", Mode: 0o4700, Size: int64(size)},
	}, more...)
	for _, h := range headers {
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, h.Size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

// openStore returns a store of layers, and the configuration that has it.
func openStore(t *testing.T, dir string, limit int64) (packages.Config, *trees.Store) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("files of layers are made as root")
	}
	c := packages.Config{Dir: dir, KeepBytes: limit}
	s, err := c.OpenStore()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return c, s
}

// TestAddReadable: all users of a sandbox can read the files of a layer, and no file has privileges.
func TestAddReadable(t *testing.T) {
	t.Parallel()
	c, s := openStore(t, t.TempDir(), 1<<20)
	if err := c.AddLayer(t.Context(), s, digest("a"), archive(t, 10)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(s.Tree(digest("a")), "bin/tool"))
	if err != nil || info.Mode() != 0o755 || info.Size() != 10 {
		t.Errorf("%v, %v", info, err)
	}
	if bytes, _, err := s.Taken(); err != nil || bytes < 10 {
		t.Errorf("it takes %d bytes, %v", bytes, err)
	}
}

// TestAddHostile unpacks archives that an installation may leave: no entry leads out, and no file stays of a layer
// that was refused.
func TestAddHostile(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		size int
		more []*tar.Header
		ok   bool
	}{
		"a file outside": {1, []*tar.Header{{Typeflag: tar.TypeReg, Name: "../../x"}}, false},
		"a device":       {1, []*tar.Header{{Typeflag: tar.TypeChar, Name: "null"}}, false},
		"too large":      {2 << 20, nil, false},
		"a link that is not followed": {1, []*tar.Header{
			{Typeflag: tar.TypeSymlink, Name: "out", Linkname: "/etc"}, {Typeflag: tar.TypeReg, Name: "out/yurt-was-here"},
		}, false},
		"a second name for what is outside": {1, []*tar.Header{{Typeflag: tar.TypeLink, Name: "shadow", Linkname: "/etc/shadow"}}, false},
		"a second name that climbs out":     {1, []*tar.Header{{Typeflag: tar.TypeLink, Name: "shadow", Linkname: "../../../../../../../../etc/shadow"}}, false},
		"a second name through a link": {1, []*tar.Header{
			{Typeflag: tar.TypeSymlink, Name: "out", Linkname: "/etc"}, {Typeflag: tar.TypeLink, Name: "shadow", Linkname: "out/shadow"},
		}, false},
		"a pipe": {1, []*tar.Header{{Typeflag: tar.TypeFifo, Name: "pipe", Mode: 0o666}}, false},
		"a disk": {1, []*tar.Header{{Typeflag: tar.TypeBlock, Name: "disk", Devmajor: 8, Mode: 0o666}}, false},
		"privileges that a file brings": {1, []*tar.Header{{
			Typeflag: tar.TypeReg, Name: "su", Mode: 0o6755,
			PAXRecords: map[string]string{"SCHILY.xattr.security.capability": "\x01\x00\x00\x02\xff\xff\xff\xff\x00\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00"},
		}}, true},
		"a link to the outside": {1, []*tar.Header{{Typeflag: tar.TypeSymlink, Name: "shadow", Linkname: "/etc/shadow"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			before, err := os.Stat("/etc/shadow")
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			c, s := openStore(t, dir, 1<<20)
			if err := c.AddLayer(t.Context(), s, digest("a"), archive(t, tt.size, tt.more...)); (err == nil) != tt.ok {
				t.Errorf("error %v", err)
			}
			entries, err := os.ReadDir(dir)
			if want := map[bool]int{true: 1}[tt.ok]; err != nil || len(entries) != want {
				t.Errorf("%v, %v", entries, err)
			}
			if info, err := os.Lstat(filepath.Join(s.Tree(digest("a")), "su")); err == nil && info.Mode() != 0o755 {
				t.Errorf("the mode of a file is %s", info.Mode())
			}
			if size, err := unix.Getxattr(filepath.Join(s.Tree(digest("a")), "su"), "security.capability", nil); err == nil {
				t.Errorf("a file has capabilities, %d bytes of them", size)
			}
			if _, err := os.Lstat("/etc/yurt-was-here"); err == nil {
				t.Error("a link was followed")
			}
			if after, err := os.Stat("/etc/shadow"); err == nil && before != nil && after.Mode() != before.Mode() {
				t.Errorf("its mode was %s and is %s", before.Mode(), after.Mode())
			}
		})
	}
}

// TestLayersNeedNoCapability: the store belongs to the user of its process. That user makes and removes layers of all modes without any.
func TestLayersNeedNoCapability(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, s := openStore(t, dir, 20) // has room for one
	entries := []*tar.Header{
		{Typeflag: tar.TypeDir, Name: "sealed/", Mode: 0o555},
		{Typeflag: tar.TypeReg, Name: "sealed/file", Mode: 0o7444, Uid: 1000, Gid: 1000},
		{Typeflag: tar.TypeDir, Name: "closed/", Mode: 0o2000},
		{Typeflag: tar.TypeReg, Name: "closed/file", Mode: 0o001},
	}
	source, next := archive(t, 15, entries...), archive(t, 15)
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
		if err = c.AddLayer(t.Context(), s, digest("a"), source); err != nil {
			return
		}
		for _, name := range []string{"sealed/file", "closed/file"} {
			if _, err = os.ReadFile(filepath.Join(s.Tree(digest("a")), name)); err != nil {
				return
			}
		}
		err = c.AddLayer(t.Context(), s, digest("b"), next)
	})
	if err != nil {
		t.Errorf("a layer without capabilities: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != digest("b") {
		t.Errorf("the store has %v, %v; want the second layer", left, err)
	}
}
