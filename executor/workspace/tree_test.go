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
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt"
)

// fill makes files, and directories of names that end in a slash.
func (a *arena) fill(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		var err error
		if dir, ok := strings.CutSuffix(name, "/"); ok {
			_, _, err = a.MakeDir(dir, 0)
		} else {
			_, err = a.Write(name, strings.NewReader(name), 1<<20, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// names lists everything below a directory, in pages of a size.
func (a *arena) names(t testing.TB, dir string, depth, limit int) []string {
	t.Helper()
	var names []string
	options := yurt.ListOptions{Depth: depth, Limit: limit}
	for {
		list, err := a.List(t.Context(), dir, options)
		if err != nil {
			t.Fatalf("listing %s after %q: %v", dir, options.After, err)
		}
		if len(list.Files) > limit {
			t.Fatalf("%d entries came of %d", len(list.Files), limit)
		}
		for _, f := range list.Files {
			names = append(names, f.Path)
		}
		if !list.More {
			return names
		}
		options.After = names[len(names)-1]
	}
}

func TestList(t *testing.T) {
	a := newArena(t)
	a.fill(t, "b/", "a", "b.txt", "b/z", "b/c/", "b/c/d", "b/c/e/f", "ü", "c")
	want := []string{"a", "b", "b/c", "b/c/d", "b/c/e", "b/c/e/f", "b/z", "b.txt", "c", "ü"}
	for limit := 1; limit < 12; limit++ {
		if got := a.names(t, ".", 10, limit); !slices.Equal(got, want) {
			t.Errorf("in pages of %d: %q, want %q", limit, got, want)
		}
	}
	if got := a.names(t, "/workspace", 1, 100); !slices.Equal(got, []string{"a", "b", "b.txt", "c", "ü"}) {
		t.Errorf("one level is %q", got)
	}
	for limit := 1; limit < 5; limit++ {
		if got := a.names(t, "b/c", 2, limit); !slices.Equal(got, []string{"b/c/d", "b/c/e", "b/c/e/f"}) {
			t.Errorf("below a directory it is %q", got)
		}
	}
	for options, want := range map[yurt.ListOptions]yurt.Code{
		{Depth: 0, Limit: 1}:                          yurt.CodeLimitOutOfRange,
		{Depth: 1, Limit: yurt.MaxListFiles + 1}:      yurt.CodeLimitOutOfRange,
		{Depth: yurt.MaxFileDepth + 1, Limit: 1}:      yurt.CodeLimitOutOfRange,
		{Depth: 1, Limit: 1, After: "elsewhere/file"}: yurt.CodeInvalidArgument,
	} {
		if _, err := a.List(t.Context(), "b", options); yurt.CodeOf(err) != want {
			t.Errorf("%+v: %v", options, err)
		}
	}
	for name, want := range map[string]yurt.Code{"none": yurt.CodeFileNotFound, "a": yurt.CodeNotAFile, "../out": yurt.CodePathOutsideWorkspace} {
		if _, err := a.List(t.Context(), name, yurt.ListOptions{Depth: 1, Limit: 1}); yurt.CodeOf(err) != want {
			t.Errorf("listing %s: %v", name, err)
		}
	}
}

// TestListOfManyFiles: a page of them costs a page of memory.
func TestListOfManyFiles(t *testing.T) {
	a := newArena(t)
	var want []string
	for n := range 1000 {
		name := fmt.Sprintf("many/%04d", (n*1237)%1000)
		a.fill(t, name)
		want = append(want, name)
	}
	slices.Sort(want)
	if got := a.names(t, "many", 1, 7*37); !slices.Equal(got, want) {
		t.Errorf("%d of %d files are listed", len(got), len(want))
	}
}

func TestListNamesLinksAndOthers(t *testing.T) {
	a := newArena(t)
	a.play(t)
	os.Mkdir(a.in+"/locked", 0o700) // root's
	os.WriteFile(a.in+"/\xff\n", nil, 0o644)
	list, err := a.List(t.Context(), ".", yurt.ListOptions{Depth: 100, Limit: 100})
	if err != nil || list.More {
		t.Fatalf("%v, %v", list.More, err)
	}
	found := map[string]yurt.FileInfo{}
	for _, f := range list.Files {
		found[f.Path] = f
	}
	if f := found["root"]; f.Type != yurt.FileLink || f.Target != "/" {
		t.Errorf("a link is %+v", f)
	}
	if f := found["fifo"]; f.Type != yurt.FileOther {
		t.Errorf("a FIFO is %+v", f)
	}
	if f := found["locked"]; !f.IsDir || f.Mode != 0o700 {
		t.Errorf("a directory that cannot be read is %+v", f)
	}
	if _, ok := found["\uFFFD\n"]; !ok || len(found) != len(list.Files) {
		t.Errorf("a name that is no text is not among %v", found)
	}
	for name := range found {
		if strings.HasPrefix(name, "abs/") || strings.HasPrefix(name, "root/") {
			t.Errorf("a link was followed to %s", name)
		}
	}
}

func TestRemove(t *testing.T) {
	a := newArena(t)
	a.fill(t, "d/e/f", "d/g", "empty/", "file")
	for name, want := range map[string]yurt.Code{"d": yurt.CodeFileExists, "none": yurt.CodeFileNotFound, ".": yurt.CodeNotAFile, "../out": yurt.CodePathOutsideWorkspace} {
		if err := a.Remove(t.Context(), name, false); yurt.CodeOf(err) != want {
			t.Errorf("removing %s: %v", name, err)
		}
	}
	for _, name := range []string{"empty", "file"} {
		if err := a.Remove(t.Context(), name, false); err != nil {
			t.Error(err)
		}
	}
	os.Symlink(a.out, a.in+"/d/e/out")
	unix.Mkfifo(a.in+"/d/fifo", 0o600)
	if err := a.Remove(t.Context(), "d", true); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(a.in); err != nil || len(entries) != 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
	a.untouched(t, nil)
}

// TestRemoveWhatIsDeep: neither descriptors nor stack run out, however deep it is.
func TestRemoveWhatIsDeep(t *testing.T) {
	a := newArena(t)
	const levels = 2000
	a.fill(t, "deep/")
	err := a.as(func() error {
		dir, err := a.root.OpenFile("deep", os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		for range levels {
			if err := unix.Mkdirat(int(dir.Fd()), "d", 0o755); err != nil {
				return err
			}
			below, err := openDir(dir, "d")
			if err != nil {
				return err
			}
			dir.Close()
			dir = below
		}
		return dir.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Pack(t.Context(), "deep", io.Discard); yurt.CodeOf(err) != yurt.CodeInvalidPath {
		t.Errorf("packing it: %v", err)
	}
	if err := a.Watch(t.Context(), "deep", true, func() {}, nil); yurt.CodeOf(err) != yurt.CodeInvalidPath {
		t.Errorf("watching it: %v", err)
	}
	if list, err := a.List(t.Context(), "deep", yurt.ListOptions{Depth: yurt.MaxFileDepth, Limit: yurt.MaxListFiles}); err != nil || len(list.Files) != yurt.MaxFileDepth {
		t.Errorf("%d levels are listed, %v", len(list.Files), err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	before := openFiles(t)
	if err := a.Remove(t.Context(), "deep", true); err != nil {
		t.Error(err)
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d descriptors were open, and %d are", before, after)
	}
	if entries, err := os.ReadDir(a.in); err != nil || len(entries) != 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a.fill(t, "d/f")
	if err := a.Remove(ctx, "d", true); !errors.Is(err, context.Canceled) {
		t.Errorf("whoever left was answered %v", err)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestMoveChmodAndAppend(t *testing.T) {
	a := newArena(t)
	a.play(t)
	a.fill(t, "f", "f2", "g", "full/x", "hollow/")
	for _, tt := range []struct {
		from, to string
		replace  bool
		want     yurt.Code
	}{
		{"f", "g", false, yurt.CodeFileExists},
		{"f", "g", true, ""},
		{"g", "moved/dir/f", false, ""},
		{"none", "x", false, yurt.CodeFileNotFound},
		{"moved", "moved/dir/below", false, yurt.CodeInvalidPath},
		{"full", "hollow", true, yurt.CodeFileExists},
		{"full", "f2", true, yurt.CodeNotAFile},
		{"moved", "hollow", true, yurt.CodeFileExists},
		{"moved", "abs/x", false, yurt.CodePathOutsideWorkspace},
		{"rel/canary", "x", false, yurt.CodePathOutsideWorkspace},
		{"moved", "../out/x", false, yurt.CodePathOutsideWorkspace},
		{"root", "elsewhere", false, ""}, // the link itself
	} {
		if _, err := a.Move(tt.from, tt.to, tt.replace); yurt.CodeOf(err) != tt.want {
			t.Errorf("moving %s to %s: %v, want %s", tt.from, tt.to, err, tt.want)
		}
		a.untouched(t, nil)
	}
	if info, err := a.Chmod("moved/dir/f", 0o4751); err != nil || info.Mode != 0o751 {
		t.Errorf("it is %+v, %v", info, err)
	}
	for name, want := range map[string]yurt.Code{"none": yurt.CodeFileNotFound, "file": yurt.CodePathOutsideWorkspace, "abs": yurt.CodePathOutsideWorkspace, "abs/canary": yurt.CodePathOutsideWorkspace} {
		if _, err := a.Chmod(name, 0o777); yurt.CodeOf(err) != want {
			t.Errorf("the mode of %s: %v", name, err)
		}
		if _, err := a.Append(name, strings.NewReader("x"), 10, 0); name != "none" && yurt.CodeOf(err) != want {
			t.Errorf("adding to %s: %v", name, err)
		}
		a.untouched(t, nil)
	}
	for _, more := range []string{"one", "two"} {
		if _, err := a.Append("log/all", strings.NewReader(more), 6, 0o600); err != nil {
			t.Error(err)
		}
	}
	if _, err := a.Append("log/all", strings.NewReader("x"), 6, 0); yurt.CodeOf(err) != yurt.CodeFileTooLarge {
		t.Errorf("adding too much: %v", err)
	}
	if data, err := readAll(a.Dir, "log/all"); string(data) != "onetwo" || err != nil {
		t.Errorf("it reads %q, %v", data, err)
	}
	// A FIFO has another end, which is the sandbox's: nobody waits for it.
	if _, err := a.Append("fifo", strings.NewReader("x"), 6, 0); yurt.CodeOf(err) != yurt.CodeNotAFile {
		t.Errorf("adding to a FIFO: %v", err)
	}
	if info, err := a.Write("moved/dir/f", strings.NewReader("x"), 6, 0); err != nil || info.Mode != 0o751 {
		t.Errorf("written again it is %+v, %v", info, err)
	}
}

func TestSpans(t *testing.T) {
	a := newArena(t)
	a.Write("f", strings.NewReader("0123456789"), 10, 0)
	a.Write("empty", strings.NewReader(""), 10, 0)
	for span, want := range map[yurt.Span]string{
		{}: "0123456789", {Offset: 4}: "456789", {Offset: 4, Length: 2}: "45", {Offset: -3}: "789", {Offset: -3, Length: 1}: "7", {Offset: -30, Length: 2}: "01", {Length: 100}: "0123456789",
	} {
		content, info, err := a.Read("f", span)
		if err != nil || info.Size != 10 {
			t.Fatalf("%+v: %+v, %v", span, info, err)
		}
		if data, err := io.ReadAll(content); string(data) != want || err != nil {
			t.Errorf("%+v is %q, %v", span, data, err)
		}
		content.Close()
	}
	for name, span := range map[string]yurt.Span{"f": {Offset: 10}, "empty": {Offset: -1}} {
		if _, _, err := a.Read(name, span); yurt.CodeOf(err) != yurt.CodeRangeNotSatisfiable {
			t.Errorf("%+v of %s: %v", span, name, err)
		}
	}
}

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
	// Again, over what is there.
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

// hostile are archives that try to get out, or to have made what nobody should.
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

// TestArchiveSourceFails: the client's fault is told apart from the archive's.
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

// FuzzUnpack unpacks whatever bytes there are. Nothing leads out, nothing waits, and
// every error is the client's.
func FuzzUnpack(f *testing.F) {
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

// TestMemoryDoesNotGrow with what passes through.
func TestMemoryDoesNotGrow(t *testing.T) {
	a := newArena(t)
	const size = 256 << 20
	zeros := func() io.Reader { return io.LimitReader(zeroReader{}, size) }
	reader, writer := io.Pipe()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := a.Write("big/f", zeros(), size, 0); err != nil {
		t.Fatal(err)
	}
	content, _, err := a.Read("big/f", yurt.Span{})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, content); n != size || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
	content.Close()
	var group sync.WaitGroup
	group.Go(func() { writer.CloseWithError(a.Pack(t.Context(), "big", writer)) })
	if done, err := a.Unpack(t.Context(), "copy", reader, Limits{Entries: 10, Bytes: size}); err != nil || done.Bytes != size {
		t.Errorf("unpacked %+v, %v", done, err)
	}
	reader.Close()
	group.Wait()
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
		t.Errorf("for %d MiB, %d MiB of memory were allocated", size>>20, took>>20)
	}
}

// zeroReader reads zeros without end.
type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
