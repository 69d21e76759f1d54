package rig

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Cached returns a directory of that name that fill has filled, once for all runs of the
// tests on this machine. One that fill failed for is made anew the next time.
func Cached(t testing.TB, name string, fill func(dir string)) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "yurt-test", name)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(dir + ".lock") // nobody makes what another is making
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	making, err := os.MkdirTemp(filepath.Dir(dir), "making-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(making) // if it is still there
	fill(making)
	if err := errors.Join(os.Chmod(making, 0o755), os.Rename(making, dir)); err != nil {
		t.Fatal(err)
	}
	return dir
}
