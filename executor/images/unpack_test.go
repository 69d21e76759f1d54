package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/yurtrun/yurt"
)

// unpackAll puts layers on top of each other in dir/tree.
func unpackAll(t testing.TB, dir string, left room, layers ...[]byte) error {
	t.Helper()
	top := filepath.Join(dir, "tree")
	if err := os.Mkdir(top, 0o755); err != nil {
		t.Fatal(err)
	}
	tree, err := openTree(top)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.close()
	for _, layer := range layers {
		if err := tree.apply(t.Context(), bytes.NewReader(layer), &left); err != nil {
			return err
		}
	}
	return tree.settle()
}

func plenty() room { return room{bytes: 1 << 20, entries: 1000} }

// TestHostileLayers has layers that want to write, or to take away, beside the tree.
func TestHostileLayers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		layers [][]byte
		want   yurt.Code // "" for one that is harmless
	}{
		"upwards":                  {[][]byte{archive(t, file("../victim", "evil"))}, yurt.CodeArchiveInvalid},
		"upwards from below":       {[][]byte{archive(t, file("a/../../victim", "evil"))}, yurt.CodeArchiveInvalid},
		"absolute":                 {[][]byte{archive(t, file("OUTSIDE/victim", "evil"))}, ""},
		"through a link":           {[][]byte{archive(t, link("out", ".."), file("out/victim", "evil"))}, ""},
		"through an absolute link": {[][]byte{archive(t, link("out", "OUTSIDE"), file("out/victim", "evil"))}, yurt.CodeArchiveInvalid}, // that is nowhere in the image
		"through many links":       {[][]byte{archive(t, link("a", "b/../.."), link("b", "../../.."), dir("c/"), file("b/victim", "evil"))}, ""},
		"through a link of /proc":  {[][]byte{archive(t, link("out", "/proc/self/cwd"), file("out/victim", "evil"))}, yurt.CodeArchiveInvalid},
		"over a link":              {[][]byte{archive(t, link("victim", "OUTSIDE/victim"), file("victim", "evil"))}, ""},
		"a link to a layer below":  {[][]byte{archive(t, link("out", "..")), archive(t, file("out/victim", "evil"))}, ""},
		"a hard link upwards":      {[][]byte{archive(t, hard("mine", "../victim"), file("mine", "evil"))}, yurt.CodeArchiveInvalid},
		"a hard link through a link": {
			[][]byte{archive(t, link("out", "OUTSIDE"), hard("mine", "out/victim"), file("mine", "evil"))},
			yurt.CodeArchiveInvalid,
		},
		"a hard link to a link":       {[][]byte{archive(t, link("out", "OUTSIDE/victim"), hard("mine", "out"), file("mine", "evil"))}, ""},
		"a whiteout upwards":          {[][]byte{archive(t, file("../.wh.victim", ""))}, yurt.CodeArchiveInvalid},
		"a whiteout of the parent":    {[][]byte{archive(t, file(".wh...", ""))}, yurt.CodeArchiveInvalid},
		"a whiteout of itself":        {[][]byte{archive(t, file("a/.wh..", ""))}, yurt.CodeArchiveInvalid},
		"a whiteout of nothing":       {[][]byte{archive(t, file(".wh.", ""))}, yurt.CodeArchiveInvalid},
		"a whiteout through a link":   {[][]byte{archive(t, link("out", "..")), archive(t, file("out/.wh.victim", ""), file("out/.wh..wh..opq", ""))}, ""},
		"an opaque link":              {[][]byte{archive(t, link("out", "OUTSIDE")), archive(t, file("out/.wh..wh..opq", ""))}, ""},
		"a directory over a link":     {[][]byte{archive(t, link("out", "OUTSIDE")), archive(t, dir("out/"), file("out/victim", "evil"))}, ""},
		"accounts that are elsewhere": {[][]byte{archive(t, dir("etc/"), link("etc/passwd", "OUTSIDE/victim"), link("etc/group", "OUTSIDE"))}, ""},
		"a link for /etc":             {[][]byte{archive(t, link("etc", "OUTSIDE"))}, ""},
		"no directory":                {[][]byte{archive(t, file("a", ""), file("a/b", "evil"))}, yurt.CodeArchiveInvalid},
		"many files":                  {[][]byte{archive(t, many(1001)...)}, yurt.CodeLimitOutOfRange},
		"many of them hidden again":   {[][]byte{archive(t, many(600)...), archive(t, file(".wh.0", "")), archive(t, many(600)...)}, yurt.CodeLimitOutOfRange},
		"too much in all":             {[][]byte{archive(t, file("a", strings.Repeat("1", 600<<10))), archive(t, file("a", strings.Repeat("1", 600<<10)))}, yurt.CodeLimitOutOfRange},
		"no end of a name":            {[][]byte{archive(t, file(strings.Repeat("a/", 3000)+"x", "x"))}, yurt.CodeArchiveInvalid},
		"no archive":                  {[][]byte{[]byte("this is no archive at all, whatever it says of itself")}, yurt.CodeArchiveInvalid},
		"half an archive":             {[][]byte{archive(t, file("a", strings.Repeat("1", 5000)))[:2000]}, yurt.CodeArchiveInvalid},
		"garbage that says gzip":      {[][]byte{{0x1f, 0x8b, 1, 2, 3, 4}}, yurt.CodeArchiveInvalid},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside := t.TempDir()
			victim := filepath.Join(outside, "victim")
			if err := os.WriteFile(victim, []byte("whole"), 0o600); err != nil {
				t.Fatal(err)
			}
			var layers [][]byte
			for _, layer := range tt.layers {
				layers = append(layers, aimed(t, layer, outside))
			}
			err := unpackAll(t, outside, plenty(), layers...)
			if (err == nil) != (tt.want == "") || err != nil && yurt.CodeOf(err) != tt.want {
				t.Errorf("%v, %q; want %q", err, yurt.CodeOf(err), tt.want)
			}
			if data, err := os.ReadFile(victim); string(data) != "whole" {
				t.Errorf("a file beside the tree holds %q, %v", data, err)
			}
			if entries, err := os.ReadDir(outside); err != nil || len(entries) != 2 {
				t.Errorf("beside the tree are %v, %v", entries, err)
			}
		})
	}
}

// aimed has an archive lead to a directory where it says OUTSIDE.
func aimed(t *testing.T, layer []byte, outside string) []byte {
	t.Helper()
	if !bytes.Contains(layer, []byte("OUTSIDE")) {
		return layer
	}
	var entries []entry
	r := tar.NewReader(bytes.NewReader(layer))
	for {
		h, err := r.Next()
		if err != nil {
			break
		}
		var content bytes.Buffer
		if _, err := content.ReadFrom(r); err != nil {
			t.Fatal(err)
		}
		h.Name, h.Linkname = strings.ReplaceAll(h.Name, "OUTSIDE", outside), strings.ReplaceAll(h.Linkname, "OUTSIDE", outside)
		entries = append(entries, entry{*h, content.String()})
	}
	return archive(t, entries...)
}

func many(n int) []entry {
	var entries []entry
	for i := range n {
		entries = append(entries, file(fmt.Sprint(i), ""))
	}
	return entries
}

// TestKinds unpacks entries of all kinds.
func TestKinds(t *testing.T) {
	t.Parallel()
	special := func(kind byte, name string) entry {
		return entry{tar.Header{Typeflag: kind, Name: name, Mode: 0o6666, Devmajor: 8, Uname: "root"}, ""}
	}
	below := archive(t, dir("d/"), file("d/secret", "1"), file("d/keep", "1"), dir("d/sub/"), file("d/sub/x", "1"), file("replaced/x", "1"))
	above := archive(t, file("d/late/y", "2"), file("d/.wh..wh..opq", ""), file("d/.wh..wh.plnk", ""), file("replaced", "2"),
		special(tar.TypeChar, "sda"), special(tar.TypeBlock, "block"), special(tar.TypeFifo, "fifo"), file("own", "2"), file(".wh.own", ""))
	root := t.TempDir()
	if err := unpackAll(t, root, plenty(), below, above); err != nil {
		t.Fatal(err)
	}
	var names []string
	err := filepath.WalkDir(filepath.Join(root, "tree"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if mode := info.Mode(); mode&0o444 != 0o444 || mode&^(fs.ModeDir|0o777) != 0 {
			t.Errorf("%s has the mode %v", path, mode)
		}
		name, err := filepath.Rel(filepath.Join(root, "tree"), path)
		names = append(names, name)
		return err
	})
	if got, want := strings.Join(names, " "), ". d d/late d/late/y etc etc/group etc/passwd own replaced"; got != want || err != nil {
		t.Errorf("it has %s, %v; want %s", got, err, want)
	}
}

func TestCompressions(t *testing.T) {
	t.Parallel()
	plain := archive(t, file("a", "1"))
	var zipped, z bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write(plain); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	e, err := zstd.NewWriter(&z)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Write(plain); err != nil || e.Close() != nil {
		t.Fatal(err)
	}
	for name, layer := range map[string][]byte{"none": plain, "gzip": zipped.Bytes(), "zstd": z.Bytes()} {
		root := t.TempDir()
		if err := unpackAll(t, root, plenty(), layer); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if data, err := os.ReadFile(filepath.Join(root, "tree", "a")); string(data) != "1" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}

func TestUser(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	err := unpackAll(t, root, plenty(), archive(t, file("etc/passwd", "root:x:0:0\nbroken\nweb:x:33:34::/:/bin/sh\nodd:x:many:1::\ntoor:x:0:0::"), file("etc/group", "root:x:0:\nstaff:x:50:web")))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := openTree(filepath.Join(root, "tree"))
	if err != nil {
		t.Fatal(err)
	}
	defer tree.close()
	for text, want := range map[string]yurt.User{
		"": {}, "root": {}, "0": {}, "0:50": {}, "toor": {},
		"web": {UID: 33, GID: 34}, "33": {UID: 33, GID: 34}, "web:staff": {UID: 33, GID: 50}, "web:7": {UID: 33, GID: 7}, "web:root": {UID: 33, GID: 33},
		"1234": {UID: 1234, GID: 1234}, "1234:5": {UID: 1234, GID: 5}, "user": {UID: 1000, GID: 1000},
	} {
		u, err := tree.user(text)
		if err != nil || (u == nil) != (want == yurt.User{}) || u != nil && *u != want {
			t.Errorf("%q is %v, %v; want %v", text, u, err, want)
		}
	}
	for _, text := range []string{"nobody-knows", "odd", "web:nobody-knows", "70000"} {
		if u, err := tree.user(text); err == nil {
			t.Errorf("%q is %v", text, u)
		}
	}
}

// FuzzApply has any bytes for a layer, over one that has links to everywhere.
func FuzzApply(f *testing.F) {
	f.Add(archive(f, file("a/b", "x"), link("l", "/"), hard("h", "a/b"), dir("d/"), file(".wh.a", ""), file("out/x", "y"), file("d/.wh..wh..opq", "")))
	f.Add(archive(f, file("../x", "y"), file("/abs", "y"), file("up/victim", "evil"), file("up/.wh.victim", "")))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Add([]byte("\x28\xb5\x2f\xfd\x00"))
	f.Fuzz(func(t *testing.T, layer []byte) {
		t.Setenv("TMPDIR", "/dev/shm") // on a disk each input would wait for it some twenty times
		root := t.TempDir()
		victim := filepath.Join(root, "victim")
		if err := os.WriteFile(victim, []byte("whole"), 0o600); err != nil {
			t.Fatal(err)
		}
		below := archive(t, link("out", root), link("up", ".."), file("own", "1"))
		_ = unpackAll(t, root, plenty(), below, layer) // an error is as good
		if data, err := os.ReadFile(victim); string(data) != "whole" {
			t.Fatalf("a file beside the tree holds %q, %v", data, err)
		}
		if entries, err := os.ReadDir(root); err != nil || len(entries) != 2 {
			t.Fatalf("beside the tree are %v, %v", entries, err)
		}
	})
}
