// Package lockedthread runs what changes the thread that it runs on for good, such as its
// namespaces, on a thread that ends with it.
package lockedthread

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Run runs do on a thread of its own, and returns when do has. That is never the main
// thread: it would not end, and is what /proc/self shows of the process.
func Run(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked, unless it is the main thread
		if unix.Gettid() != unix.Getpid() {
			do()
			return
		}
		Run(do) // on another one, since this one is taken
		runtime.UnlockOSThread()
	}()
	<-done
}
