package testutil

import (
	"testing"

	"github.com/yurtrun/yurt/test/nodejs"
)

// Npm returns the directory of npm itself, which it fetches once where the machine lacks it.
func Npm(t testing.TB) string {
	t.Helper()
	dir, err := nodejs.Npm()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
