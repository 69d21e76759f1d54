package yurtclient

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSizeOf: the progress of an upload has its size, where the reader knows that.
func TestSizeOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("hej"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, test := range map[string]struct {
		source io.Reader
		want   int64
	}{
		"bytes":  {bytes.NewReader([]byte("hej")), 3},
		"text":   {strings.NewReader("hej"), 3},
		"file":   {file, 3},
		"stream": {io.LimitReader(strings.NewReader("hej"), 3), -1},
	} {
		if got := sizeOf(test.source); got != test.want {
			t.Errorf("%s: the size is %d, want %d", name, got, test.want)
		}
	}
}
