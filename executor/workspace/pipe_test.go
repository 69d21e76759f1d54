package workspace

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestPipe: a writer to a FIFO does not wait, and its reader's actions wake no watcher.
func TestPipe(t *testing.T) {
	a := newArena(t)
	if err := os.Mkdir(filepath.Join(a.in, "dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Join(a.in, "dir"), testUser, testUser); err != nil {
		t.Fatal(err)
	}
	if err := a.MakePipe("dir/pipe"); err != nil {
		t.Fatal(err)
	}
	pipe, err := a.OpenPipe("dir/pipe")
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if err := pipe.SetWriteDeadline(time.Now()); !errors.Is(err, os.ErrNoDeadline) {
		t.Fatalf("the runtime's poller has it: %v", err)
	}
	line := bytes.Repeat([]byte("a line\n"), 500)
	written := 0
	for err == nil {
		var n int
		n, err = pipe.Write(line)
		written += n
	}
	if !errors.Is(err, syscall.EAGAIN) || written < len(line) {
		t.Errorf("after %d bytes with no reader: %v", written, err)
	}
	reader, err := os.Open(filepath.Join(a.in, "dir", "pipe"))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	got := make([]byte, len(line))
	if _, err := reader.Read(got); err != nil || !bytes.Equal(got, line) {
		t.Errorf("what was written comes as %.20q, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(a.in, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := a.OpenPipe("file"); err == nil {
		t.Error("a file was opened as a FIFO")
	}
}
