package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/test/testutil"
)

func TestFiles(t *testing.T) {
	client, e := node(t)
	sandbox := create(t, client)
	content := bytes.Repeat([]byte("0123456789abcdef"), 3<<16) // 3 MiB, in several messages
	info, err := client.WriteFile(t.Context(), sandbox.ID, "dir/file", bytes.NewReader(content), yurt.WriteOptions{Mode: 0o640})
	if err != nil || info.Path != "dir/file" || info.Size != int64(len(content)) || info.Mode != 0o640 {
		t.Fatalf("written %+v, %v", info, err)
	}
	if _, err := client.WriteFile(t.Context(), sandbox.ID, "dir/file", strings.NewReader("end"), yurt.WriteOptions{Append: true}); err != nil {
		t.Fatal(err)
	}
	content = append(content, "end"...)
	file, info, err := client.ReadFile(t.Context(), sandbox.ID, "dir/file", yurt.Span{})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if direct, err := e.StatFile(t.Context(), sandbox.ID, "dir/file"); err != nil || !cmp.Equal(info, direct) {
		t.Errorf("it is %+v, want %+v, %v", info, direct, err)
	}
	if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
	// A part, whose reader leaves early, which is no trouble.
	file, _, err = client.ReadFile(t.Context(), sandbox.ID, "dir/file", yurt.Span{Offset: -4, Length: 3})
	if err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 2)
	if _, err := io.ReadFull(file, head); err != nil || string(head) != "fe" {
		t.Errorf("the span begins %q, %v", head, err)
	}
	file.Close()
	if _, _, err := client.ReadFile(t.Context(), sandbox.ID, "none", yurt.Span{}); yurt.CodeOf(err) != yurt.CodeFileNotFound {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := client.WriteFile(t.Context(), sandbox.ID, "../out", bytes.NewReader(content), yurt.WriteOptions{}); yurt.CodeOf(err) != yurt.CodePathOutsideWorkspace {
		t.Errorf("a path that leads out: %v", err)
	}
}

func TestDirectories(t *testing.T) {
	client, e := node(t)
	sandbox := create(t, client)
	if info, err := client.MakeDir(t.Context(), sandbox.ID, "a/b", 0o700); err != nil || info.Mode != 0o700 || !info.IsDir {
		t.Fatalf("made %+v, %v", info, err)
	}
	if _, err := client.WriteFile(t.Context(), sandbox.ID, "a/b/file", strings.NewReader("text"), yurt.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if info, err := client.MoveFile(t.Context(), sandbox.ID, "a/b/file", "a/moved", false); err != nil || info.Path != "a/moved" {
		t.Errorf("moved %+v, %v", info, err)
	}
	if info, err := client.ChmodFile(t.Context(), sandbox.ID, "a/moved", 0o600); err != nil || info.Mode != 0o600 {
		t.Errorf("changed %+v, %v", info, err)
	}
	options := yurt.ListOptions{Depth: 2, Limit: 2}
	list, err := client.ListFiles(t.Context(), sandbox.ID, ".", options)
	if direct, directErr := e.ListFiles(t.Context(), sandbox.ID, ".", options); err != nil || directErr != nil || !cmp.Equal(list, direct) || !list.More {
		t.Errorf("the list is %+v, %v, want %+v, %v", list, err, direct, directErr)
	}
	var archive bytes.Buffer
	if err := client.PackFiles(t.Context(), sandbox.ID, "a", &archive); err != nil {
		t.Fatal(err)
	}
	if err := client.RemoveFile(t.Context(), sandbox.ID, "a", true); err != nil {
		t.Fatal(err)
	}
	if _, err := client.StatFile(t.Context(), sandbox.ID, "a"); yurt.CodeOf(err) != yurt.CodeFileNotFound {
		t.Errorf("it was removed, and the answer is %v", err)
	}
	unpacked, err := client.UnpackFiles(t.Context(), sandbox.ID, "again", &archive)
	if err != nil || unpacked.Bytes != 4 {
		t.Errorf("unpacked %+v, %v", unpacked, err)
	}
	if r := run(t, client, sandbox.ID, "cat again/moved"); r.Stdout != "text" {
		t.Errorf("what was packed and unpacked is %+v", r)
	}
}

func TestWatchOfFiles(t *testing.T) {
	client, _ := node(t)
	sandbox := create(t, client)
	enough := errors.New("enough")
	err := client.WatchFiles(t.Context(), sandbox.ID, ".", true, func() {
		if _, err := client.MakeDir(t.Context(), sandbox.ID, "new", 0); err != nil {
			t.Error(err)
		}
	}, func(e yurt.FileEvent) error {
		if e.Type == yurt.FileCreated && e.Path == "new" && e.IsDir {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Errorf("it ended with %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := client.WatchFiles(ctx, sandbox.ID, ".", false, cancel, nil); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("given up, it ended with %v", err)
	}
	if err := client.WatchFiles(t.Context(), sandbox.ID, "none", false, func() { t.Error("it is ready") }, nil); yurt.CodeOf(err) != yurt.CodeFileNotFound {
		t.Errorf("a directory that is not there: %v", err)
	}
}

// A write whose source fails midway changes no file.
func TestWriteThatIsGivenUp(t *testing.T) {
	client, _ := node(t)
	sandbox := create(t, client)
	if _, err := client.WriteFile(t.Context(), sandbox.ID, "file", strings.NewReader("old"), yurt.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the source broke")
	source := io.MultiReader(bytes.NewReader(make([]byte, 1<<20)), failing{broken})
	if _, err := client.WriteFile(t.Context(), sandbox.ID, "file", source, yurt.WriteOptions{}); !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
	if r := run(t, client, sandbox.ID, "cat file"); r.Stdout != "old" {
		t.Errorf("the file holds %d bytes", len(r.Stdout))
	}
	testutil.Eventually(t, "nothing is left beside it", func() bool { return run(t, client, sandbox.ID, "ls -A | wc -l").Stdout == "1\n" })
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
