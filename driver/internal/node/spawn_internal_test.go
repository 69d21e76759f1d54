package node

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLogIsNoFileElsewhere: an executor that was taken over may put another file in the place of its log.
func TestLogIsNoFileElsewhere(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(canary, path string) error{
		"a link":             os.Symlink,
		"a name of a file":   os.Link,
		"a pipe with a name": func(_, path string) error { return unix.Mkfifo(path, 0o600) },
	} {
		dir := t.TempDir()
		canary, path := filepath.Join(dir, "canary"), filepath.Join(dir, "executor.log")
		if err := errors.Join(os.WriteFile(canary, []byte("kept"), 0o600), put(canary, path)); err != nil {
			t.Fatal(err)
		}
		if log, err := openLog(path); err == nil {
			log.Close()
			t.Errorf("%s is taken as the log", name)
		}
	}
	path := filepath.Join(t.TempDir(), "executor.log")
	for range 2 { // the second time it is there
		log, err := openLog(path)
		if err != nil {
			t.Fatal(err)
		}
		log.Close()
	}
}
