// Package lockedthread runs functions that change their thread for good, such as its namespaces, on a thread that ends with them.
package lockedthread

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Run runs do on a thread of its own, and returns when do has. That is never the main thread: it would not end, and /proc/self
// shows it as the process.
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
