package files_test

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/yurtrun/yurt"
	"github.com/yurtrun/yurt/executor/files"
	"github.com/yurtrun/yurt/executor/workspace"
)

// directory has the calls that are measured.
type directory interface {
	Write(name string, content io.Reader, limit int64, mode os.FileMode) (yurt.FileInfo, error)
	Read(name string, span yurt.Span) (io.ReadCloser, yurt.FileInfo, error)
	Stat(name string) (yurt.FileInfo, error)
}

// BenchmarkSmallFile compares calls in this process with those that a server carries out.
func BenchmarkSmallFile(b *testing.B) {
	a := newArena(b)
	top, err := os.Open(a.top)
	if err != nil {
		b.Fatal(err)
	}
	defer top.Close()
	direct, err := workspace.Open(top, testUser, testUser)
	if err != nil {
		b.Fatal(err)
	}
	defer direct.Close()
	for name, dir := range map[string]directory{"direct": direct, "served": a.Dir} {
		b.Run("stat/"+name, func(b *testing.B) { each(b, func() error { _, err := dir.Stat("."); return err }) })
		b.Run("write/"+name, func(b *testing.B) {
			each(b, func() error { _, err := dir.Write("a", strings.NewReader("small"), 100, 0); return err })
		})
		b.Run("read/"+name, func(b *testing.B) { each(b, func() error { return readAll(dir) }) })
	}
}

var _ directory = (*files.Dir)(nil)

func readAll(dir directory) error {
	file, _, err := dir.Read("a", yurt.Span{})
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(io.Discard, file)
	return err
}

func each(b *testing.B, do func() error) {
	for b.Loop() {
		if err := do(); err != nil {
			b.Fatal(err)
		}
	}
}
