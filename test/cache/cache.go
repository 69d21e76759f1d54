// Package cache keeps the results of installations and builds of tests and benchmarks for all of their runs on a machine, in
// the user's cache.
package cache

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Dir returns a directory of that name that fill has filled. The next call fills one anew that fill failed for.
func Dir(name string, fill func(dir string) error) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache: %w", err)
	}
	dir := filepath.Join(cache, "yurt-test", name)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("making the cache: %w", err)
	}
	lock, err := os.Create(dir + ".lock") // one process fills, and the others wait for it
	if err != nil {
		return "", fmt.Errorf("making a lock for %s: %w", dir, err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("waiting for another process to fill %s: %w", dir, err)
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	making, err := os.MkdirTemp(filepath.Dir(dir), "making-")
	if err != nil {
		return "", fmt.Errorf("making %s: %w", dir, err)
	}
	defer os.RemoveAll(making) // if it is still there
	if err := fill(making); err != nil {
		return "", fmt.Errorf("filling %s: %w", dir, err)
	}
	if err := errors.Join(os.Chmod(making, 0o755), os.Rename(making, dir)); err != nil {
		return "", fmt.Errorf("making %s: %w", dir, err)
	}
	return dir, nil
}
