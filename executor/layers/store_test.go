package layers

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
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

func open(t *testing.T, dir string, limit int64) *Store {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("files of layers are made as root")
	}
	s, err := Open(dir, Limits{Bytes: limit, LayerBytes: limit, LayerEntries: 100})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func use(t *testing.T, s *Store, digest, user string, want bool) {
	t.Helper()
	there, err := s.Use(digest, user)
	if err != nil || there != want {
		t.Errorf("layer %.1s is there: %v, %v; want %v", digest, there, err, want)
	}
}

func TestAddAndUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	use(t, s, digest("a"), "me", false)
	if err := s.Add(t.Context(), digest("a"), archive(t, 10)); err != nil {
		t.Fatal(err)
	}
	use(t, s, digest("a"), "me", true)
	if err := s.Add(t.Context(), digest("a"), archive(t, 20)); err != nil { // another caller was faster
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(s.Tree(digest("a")), "bin/tool"))
	if err != nil || info.Mode() != 0o755 || info.Size() != 10 {
		t.Errorf("%v, %v", info, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
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
			s := open(t, dir, 1<<20)
			if err := s.Add(t.Context(), digest("a"), archive(t, tt.size, tt.more...)); (err == nil) != tt.ok {
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

// TestMakeRoom keeps layers in use, by this store or another, and those that were used last.
func TestMakeRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, other := open(t, dir, 100), open(t, dir, 100)
	for i, letter := range []string{"a", "b", "c"} {
		if err := s.Add(t.Context(), digest(letter), archive(t, 30)); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, digest(letter), metaFile), at, at); err != nil {
			t.Fatal(err)
		}
	}
	use(t, other, digest("a"), "sandbox", true)
	if err := s.Add(t.Context(), digest("d"), archive(t, 30)); err != nil {
		t.Fatal(err)
	}
	for letter, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		use(t, s, digest(letter), "look", want)
	}
	s.Release("look")
	other.Release("sandbox")
	if err := s.Add(t.Context(), digest("e"), archive(t, 90)); err != nil {
		t.Fatal(err)
	}
	for _, letter := range []string{"a", "c", "d"} {
		use(t, s, digest(letter), "look", false)
	}
	use(t, s, digest("e"), "look", true)
}

// TestHalfMade finds the files of a process that was killed.
func TestHalfMade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{newPrefix + "x", oldPrefix + "y"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Join(path, treeDir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, digest("a"), treeDir), 0o700); err != nil { // no record in it
		t.Fatal(err)
	}
	s := open(t, dir, 100)
	use(t, s, digest("a"), "me", false)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if err := s.Add(t.Context(), digest("a"), archive(t, 1)); err != nil {
		t.Error(err)
	}
	use(t, s, digest("a"), "me", true)
	if err := s.Add(t.Context(), "../x", archive(t, 1)); yurt.CodeOf(err) != yurt.CodeInternal {
		t.Errorf("error %v", err)
	}
}
