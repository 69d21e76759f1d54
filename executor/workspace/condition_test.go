package workspace

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/yurtrun/yurt"
)

// TestWriteIf: a write under a condition that does not hold changes no file, and its error has the present ETag.
func TestWriteIf(t *testing.T) {
	a := newArena(t)
	write := func(content string, condition yurt.Condition) (yurt.FileInfo, error) {
		return a.WriteIf("dir/file", strings.NewReader(content), 1<<20, 0, condition)
	}
	absent := yurt.Condition{NoneMatch: []string{"*"}}
	_, err := write("lost", yurt.Condition{Match: []string{`"any"`}})
	wantCondition(t, err, "")
	if _, err := a.Stat("dir"); yurt.CodeOf(err) != yurt.CodeFileNotFound {
		t.Errorf("a write that was refused made the directory, error %v", err)
	}
	first, err := write("one", absent)
	if err != nil {
		t.Fatal(err)
	}
	_, err = write("lost", absent)
	wantCondition(t, err, first.ETag)
	second, err := write("two", yurt.Condition{Match: []string{first.ETag}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = write("lost", yurt.Condition{Match: []string{first.ETag}})
	wantCondition(t, err, second.ETag)
	content, read, err := a.Read("dir/file", yurt.Span{})
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	list, err := a.List(t.Context(), "dir", yurt.ListOptions{Depth: 1, Limit: 10})
	if err != nil || len(list.Files) != 1 || list.Files[0].ETag != second.ETag || read.ETag != second.ETag {
		t.Errorf("the ETags are %s of the write, %s of the read and %+v of the list, error %v; want the same", second.ETag, read.ETag, list.Files, err)
	}
}

func wantCondition(t *testing.T, err error, etag string) {
	t.Helper()
	var coded *yurt.Error
	if !errors.As(err, &coded) || coded.Code != yurt.CodePreconditionFailed || coded.ETag != etag {
		t.Errorf("the error is %+v, want a condition that failed for the ETag %q", err, etag)
	}
}

// TestNoUpdateIsLost: clients at once add 1 to the number in a file, each by a read and a write under the condition that the file is
// still the one that was read. Each write that succeeds counts, whether its size changed or not, and however soon it came after another.
func TestNoUpdateIsLost(t *testing.T) {
	a := newArena(t)
	const clients, each = 8, 50
	if _, err := a.Write("counter", strings.NewReader("1000"), 100, 0); err != nil {
		t.Fatal(err)
	}
	add := func() error {
		for {
			content, info, err := a.Read("counter", yurt.Span{})
			if err != nil {
				return err
			}
			text, err := io.ReadAll(content)
			if err := errors.Join(err, content.Close()); err != nil {
				return err
			}
			number, err := strconv.Atoi(string(text))
			if err != nil {
				return err
			}
			_, err = a.WriteIf("counter", strings.NewReader(strconv.Itoa(number+1)), 100, 0, yurt.Condition{Match: []string{info.ETag}})
			if yurt.CodeOf(err) != yurt.CodePreconditionFailed {
				return err
			}
		}
	}
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for range each {
				if err := add(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	content, _, err := a.Read("counter", yurt.Span{})
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	if text, err := io.ReadAll(content); err != nil || string(text) != strconv.Itoa(1000+clients*each) {
		t.Errorf("after %d additions the number is %s, error %v; want %d", clients*each, text, err, 1000+clients*each)
	}
}
