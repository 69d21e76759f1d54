package lockedthread

import (
	"os"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRunIsNeverOnTheMainThread makes namespaces from many goroutines at once, and finds
// the process in its own.
func TestRunIsNeverOnTheMainThread(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("making namespaces needs root")
	}
	before, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 * runtime.NumCPU() {
		all.Go(func() {
			for range 50 {
				Run(func() {
					if unix.Gettid() == unix.Getpid() {
						t.Error("it runs on the main thread")
					} else if err := unix.Unshare(unix.CLONE_FS); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
	all.Wait()
	if after, err := os.Readlink("/proc/self/ns/net"); err != nil || after != before {
		t.Errorf("it was in %s and is in %s: %v", before, after, err)
	}
}
