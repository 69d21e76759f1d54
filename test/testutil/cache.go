package testutil

import (
	"testing"

	"github.com/yurtrun/yurt/test/cache"
)

// Cached is [cache.Dir] for tests, whose fill may end the test.
func Cached(t testing.TB, name string, fill func(dir string)) string {
	t.Helper()
	dir, err := cache.Dir(name, func(dir string) error {
		fill(dir)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
