package workspace

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
)

// pack returns the archive of a directory, by name.
func (a *arena) pack(t testing.TB, dir string) ([]byte, map[string]*tar.Header) {
	t.Helper()
	var archive bytes.Buffer
	if err := a.Pack(context.Background(), dir, &archive); err != nil {
		t.Fatal(err)
	}
	headers := map[string]*tar.Header{}
	reader := tar.NewReader(bytes.NewReader(archive.Bytes()))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return archive.Bytes(), headers
		}
		if err != nil {
			t.Fatal(err)
		}
		headers[header.Name] = header
	}
}

func TestPackAndUnpack(t *testing.T) {
	a := newArena(t)
	a.play(t)
	long := "tree/" + strings.Repeat("long-name/", 20) + "ü"
	a.fill(t, "tree/f", "tree/sub/g", "tree/hollow/", long)
	os.Symlink("../../out", a.in+"/tree/out")
	unix.Mkfifo(a.in+"/tree/fifo", 0o666)
	if _, err := a.Chmod("tree/f", 0o755); err != nil {
		t.Fatal(err)
	}
	archive, headers := a.pack(t, "tree")
	a.untouched(t, archive)
	if h := headers["f"]; h == nil || h.Mode != 0o755 || h.Size != 6 || headers["sub/"] == nil || headers["hollow/"] == nil || headers["fifo"] != nil {
		t.Errorf("it holds %v", headers)
	}
	if h := headers["out"]; h == nil || h.Typeflag != tar.TypeSymlink || h.Linkname != "../../out" {
		t.Errorf("a link is %+v", h)
	}
	done, err := a.Unpack(t.Context(), "copy/of", bytes.NewReader(archive), Limits{Entries: 100, Bytes: 1 << 20})
	if err != nil || done.Entries != len(headers) {
		t.Fatalf("unpacked %+v, %v", done, err)
	}
	if data, err := readAll(a.Dir, "copy/of/"+strings.TrimPrefix(long, "tree/")); string(data) != long || err != nil {
		t.Errorf("a file with a long name is %q, %v", data, err)
	}
	before, err := a.Stat("tree/f")
	after, err2 := a.Stat("copy/of/f")
	if err != nil || err2 != nil || after.Mode != 0o755 || !after.ModTime.Equal(before.ModTime.Truncate(1e9)) && !after.ModTime.Equal(before.ModTime.Round(1e9)) {
		t.Errorf("%+v became %+v, %v, %v", before, after, err, err2)
	}
	// Again, over the existing files.
	if _, err := a.Unpack(t.Context(), "copy/of", bytes.NewReader(archive), Limits{Entries: 100, Bytes: 1 << 20}); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]yurt.Code{"none": yurt.CodeFileNotFound, "tree/f": yurt.CodeNotAFile, "abs": yurt.CodePathOutsideWorkspace, "fifo": yurt.CodeNotAFile} {
		var nothing bytes.Buffer
		if err := a.Pack(t.Context(), name, &nothing); yurt.CodeOf(err) != want || nothing.Len() != 0 {
			t.Errorf("packing %s: %v, %d bytes", name, err, nothing.Len())
		}
		if _, err := a.Unpack(t.Context(), name, bytes.NewReader(archive), Limits{}); name != "none" && yurt.CodeOf(err) != yurt.CodeNotAFile {
			t.Errorf("unpacking in %s: %v", name, err)
		}
		a.untouched(t, nil)
	}
}

// archive makes a tar archive; content is that of every file.
func archive(t testing.TB, content string, headers ...*tar.Header) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, h := range headers {
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(content))
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatalf("%s: %v", h.Name, err)
		}
		if h.Typeflag == tar.TypeReg {
			io.WriteString(w, content)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func file(name string) *tar.Header { return &tar.Header{Name: name, Typeflag: tar.TypeReg} }

func link(kind byte, name, target string) *tar.Header {
	return &tar.Header{Name: name, Linkname: target, Typeflag: kind}
}

// hostile are archives that try to escape, or to create files that no user may create.
func hostile(t testing.TB, out string) map[string]struct {
	archive []byte
	want    yurt.Code
} {
	t.Helper()
	outside, invalid := yurt.CodePathOutsideWorkspace, yurt.CodeArchiveInvalid
	return map[string]struct {
		archive []byte
		want    yurt.Code
	}{
		"..":                     {archive(t, "x", file("../out/canary")), outside},
		".. in the middle":       {archive(t, "x", file("a/../../out/canary")), outside},
		"an absolute path":       {archive(t, "x", file(out+"/canary")), outside},
		"a directory outside":    {archive(t, "", &tar.Header{Name: "../out/new/", Typeflag: tar.TypeDir}), outside},
		"through a link":         {archive(t, "x", link(tar.TypeSymlink, "l", out), file("l/canary")), outside},
		"through a relative one": {archive(t, "x", link(tar.TypeSymlink, "l", "../../out"), file("l/new")), outside},
		"through two": {archive(t, "x", &tar.Header{Name: "d/", Typeflag: tar.TypeDir, Mode: 0o755}, link(tar.TypeSymlink, "d/l", ".."), link(tar.TypeSymlink, "m", "d/l/../../out"),
			file("m/new")), outside},
		"over a link":                     {archive(t, "x", link(tar.TypeSymlink, "l", out+"/canary"), file("l")), ""},
		"a directory over a link":         {archive(t, "x", link(tar.TypeSymlink, "l", out), &tar.Header{Name: "l/", Typeflag: tar.TypeDir}), yurt.CodeNotAFile},
		"a hard link to .. outside":       {archive(t, "x", link(tar.TypeLink, "l", "../out/canary"), file("l")), outside},
		"a hard link to an absolute path": {archive(t, "x", link(tar.TypeLink, "l", out+"/canary")), outside},
		"a hard link through a link":      {archive(t, "x", link(tar.TypeSymlink, "s", out), link(tar.TypeLink, "l", "s/canary"), file("l")), outside},
		"a hard link to a link":           {archive(t, "x", link(tar.TypeSymlink, "s", out+"/canary"), link(tar.TypeLink, "l", "s"), file("l")), ""},
		"a character device":              {archive(t, "", &tar.Header{Name: "null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}), invalid},
		"a block device":                  {archive(t, "", &tar.Header{Name: "sda", Typeflag: tar.TypeBlock, Devmajor: 8}), invalid},
		"a FIFO":                          {archive(t, "", &tar.Header{Name: "fifo", Typeflag: tar.TypeFifo}), invalid},
		"the directory itself, as a file": {archive(t, "x", file(".")), invalid},
		"a name too deep":                 {archive(t, "x", file(strings.Repeat("d/", 200)+"f")), yurt.CodeInvalidPath},
		"a name too long":                 {archive(t, "x", file(strings.Repeat("d/", 3000)+"f")), yurt.CodeInvalidPath},
		"a line end in a name":            {archive(t, "x", file("a\nb")), yurt.CodeInvalidPath},
		"too many entries":                {archive(t, "", slices.Repeat([]*tar.Header{{Name: "d/", Typeflag: tar.TypeDir, Mode: 0o755}}, 101)...), yurt.CodeFileTooLarge},
		"too many bytes":                  {archive(t, strings.Repeat("x", 600<<10), file("a"), file("b")), yurt.CodeFileTooLarge},
		"setuid":                          {archive(t, "x", &tar.Header{Name: "su", Typeflag: tar.TypeReg, Mode: 0o6777}), ""},
		"nonsense":                        {bytes.Repeat([]byte("nonsense"), 200), invalid},
		"compressed":                      {append([]byte("\x1f\x8b\x08"), make([]byte, 600)...), invalid},
		"half of one":                     {archive(t, "x", file("a"), file("b"))[:1400], invalid},
		"a bomb of holes":                 {sparseBomb(), yurt.CodeFileTooLarge},
	}
}

// sparseBomb is an archive of a file that is a hole of 8 GiB.
func sparseBomb() []byte {
	const size = "77777777777"
	block := make([]byte, 512)
	copy(block, "bomb")
	copy(block[100:], "0000644\x000000000\x000000000\x00")
	copy(block[124:], "00000000000\x0000000000000\x00")
	copy(block[148:], "        ")
	block[156] = 'S'
	copy(block[257:], "ustar  \x00")
	copy(block[386:], size+"\x0000000000000\x00") // one piece, at the end, of no bytes
	copy(block[483:], size+"\x00")
	sum := 0
	for _, b := range block {
		sum += int(b)
	}
	copy(block[148:], fmt.Sprintf("%06o\x00 ", sum))
	return slices.Concat(block, make([]byte, 1024))
}

func TestHostileArchives(t *testing.T) {
	a := newArena(t)
	for name, tt := range hostile(t, a.out) {
		t.Run(name, func(t *testing.T) {
			done, err := a.Unpack(t.Context(), "u", bytes.NewReader(tt.archive), Limits{Entries: 100, Bytes: 1 << 20})
			if yurt.CodeOf(err) != tt.want {
				t.Errorf("unpacked %+v, %v (%s), want %q", done, err, yurt.CodeOf(err), tt.want)
			}
			a.untouched(t, nil)
			a.ordinary(t)
			if err := a.RemoveAll("u"); err != nil {
				t.Error(err)
			}
		})
	}
	a.untouched(t, nil)
}

// ordinary fails the test if there is something that no archive may make.
func (a *arena) ordinary(t testing.TB) {
	t.Helper()
	err := filepath.WalkDir(a.in, func(name string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if m := info.Mode(); m&(os.ModeSetuid|os.ModeSetgid|os.ModeDevice|os.ModeNamedPipe) != 0 || strings.HasPrefix(path.Base(name), tempPrefix) {
			t.Errorf("it made %s, %s", name, m)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestArchiveSourceFails: the client's fault is distinct from the archive's.
func TestArchiveSourceFails(t *testing.T) {
	a := newArena(t)
	whole := archive(t, strings.Repeat("x", 5000), file("a"))
	gone := errors.New("the client is gone")
	for _, length := range []int{0, 100, 512, 2000} {
		source := io.MultiReader(bytes.NewReader(whole[:length]), failingReader{gone})
		if _, err := a.Unpack(t.Context(), ".", source, Limits{Entries: 10, Bytes: 1 << 20}); !errors.Is(err, gone) {
			t.Errorf("after %d bytes: %v", length, err)
		}
	}
	if entries, err := os.ReadDir(a.in); err != nil || len(entries) != 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// FuzzUnpack unpacks arbitrary bytes. No path leads out, no open blocks, and every error is the client's.
func FuzzUnpack(f *testing.F) {
	f.Setenv("TMPDIR", "/dev/shm") // on a disk each input would wait for it
	a := newArena(f)
	for _, h := range hostile(f, a.out) {
		if len(h.archive) < 64<<10 {
			f.Add(h.archive)
		}
	}
	f.Add(archive(f, "content", file("a/b"), link(tar.TypeSymlink, "c", "a"), link(tar.TypeLink, "d", "a/b"), &tar.Header{Name: "e/", Typeflag: tar.TypeDir, Mode: 0o500}, file("e/f")))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := a.Unpack(t.Context(), "u", bytes.NewReader(data), Limits{Entries: 50, Bytes: 1 << 20})
		if yurt.CodeOf(err) == yurt.CodeInternal {
			t.Fatalf("an error that is not the client's: %v", err)
		}
		a.untouched(t, nil)
		a.ordinary(t)
		for _, name := range a.names(t, ".", yurt.MaxFileDepth, 10) {
			data, _ := readAll(a.Dir, name)
			a.untouched(t, data)
		}
		a.RemoveAll("u")
		if entries, err := os.ReadDir(a.in); err != nil || len(entries) > 1 {
			t.Fatalf("%v is left, %v", entries, err)
		}
	})
}
