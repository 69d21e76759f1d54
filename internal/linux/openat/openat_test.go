package openat_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yurtrun/yurt/internal/linux/openat"
)

// TestAtBesideRenames opens a file by a path that leads up again, while others rename theirs, as
// they do all the time on a node.
func TestAtBesideRenames(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defer renaming(t)()
	root, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	path := strings.Repeat("a/../", 10) + "file"
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT}
	for disturbed := 0; disturbed < 10; {
		switch fd, err := unix.Openat2(int(root.Fd()), path, how); {
		case err == nil:
			unix.Close(fd)
		case errors.Is(err, unix.EAGAIN):
			disturbed++
		default:
			t.Fatal(err)
		}
		fd, err := openat.At(int(root.Fd()), path, how)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
	}
}

// TestAtSaysWhy: an error that is not a disturbance is returned at once.
func TestAtSaysWhy(t *testing.T) {
	root, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for path, want := range map[string]error{"missing": unix.ENOENT, "../out": unix.EXDEV} {
		if _, err := openat.At(int(root.Fd()), path, &unix.OpenHow{Flags: unix.O_PATH, Resolve: unix.RESOLVE_BENEATH}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}

// TestInside opens paths in the root of a process: a link in any place of the path is refused, one to the same directory too.
func TestInside(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "real", "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"last": "real", "absolute": dir + "/real", "dot": ".", "away": "/etc"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]error{
		"/": nil, dir: nil, dir + "/real/below": nil, dir + "/real/../real": nil,
		dir + "/last": unix.ELOOP, dir + "/last/below": unix.ELOOP, dir + "/absolute/below": unix.ELOOP, dir + "/dot/real": unix.ELOOP,
		dir + "/away": unix.ELOOP, "/proc/self/root" + dir: unix.ELOOP, "/proc/self/cwd": unix.ELOOP, dir + "/missing": unix.ENOENT,
		strings.Repeat("/..", 20) + "/etc": unix.EXDEV,
	} {
		fd, err := openat.Inside(os.Getpid(), path, unix.O_PATH|unix.O_DIRECTORY)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
		if err == nil {
			unix.Close(fd)
		}
	}
	if _, err := openat.Inside(1<<22+1, "/", unix.O_PATH); !errors.Is(err, unix.ENOENT) {
		t.Errorf("in the root of a process that is not there: %v", err)
	}
}

// renaming has a file renamed again and again, until the function that it returns is called.
func renaming(t *testing.T) (stop func()) {
	t.Helper()
	names := [2]string{filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "other")}
	if err := os.WriteFile(names[0], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var over atomic.Bool
	done := make(chan error)
	go func() {
		for i := 0; !over.Load(); i++ {
			if err := os.Rename(names[i%2], names[(i+1)%2]); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	return func() {
		over.Store(true)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
