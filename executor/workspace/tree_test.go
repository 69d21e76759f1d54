package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
	if err := a.Watch(t.Context(), a.shared, "deep", true, func() {}, nil); yurt.CodeOf(err) != yurt.CodeInvalidPath {
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
	// The sandbox holds the other end of a FIFO: the host does not wait for it.
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

// TestMemoryDoesNotGrow streams a file that is larger than the memory it may use.
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
