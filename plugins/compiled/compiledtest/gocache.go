package compiledtest

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/yurtrun/yurt/plugins/golang"
)

// GoCommand is the go command of this host.
func GoCommand(t testing.TB) string {
	t.Helper()
	return Host{}.tools(t, golang.Runtime{})["go"]
}

// GoCache returns a build cache with the packages of Go's standard library that tests need. It is
// made once on a machine, and kept among the user's caches.
func GoCache(t testing.TB) string {
	t.Helper()
	base, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, "yurt-test", "go-build-"+runtime.Version())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(dir+".lock", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	// One test makes it, those beside it wait.
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if info, err := lock.Stat(); err != nil || info.Size() > 0 {
		return dir
	}
	if err := golang.MakeCache(t.Context(), GoCommand(t), dir, t.Output(), "fmt", "strings", "errors", "io", "os"); err != nil {
		t.Fatal(err)
	}
	if _, err := lock.WriteString("made\n"); err != nil {
		t.Fatal(err)
	}
	return dir
}
