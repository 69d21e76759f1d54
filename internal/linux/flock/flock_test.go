package flock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestTake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		return file
	}
	first, second := open(), open()
	if err := Take(first, 0); err != nil {
		t.Fatal(err)
	}
	if err := Take(second, 10*time.Millisecond); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("what another holds: %v", err)
	}
	time.AfterFunc(20*time.Millisecond, func() { first.Close() })
	if err := Take(second, time.Minute); err != nil {
		t.Errorf("once the other is gone: %v", err)
	}
}
